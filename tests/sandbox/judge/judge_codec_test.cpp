// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/judge_words.hpp"
#include "sandbox/judge/session.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <vector>

using namespace regatta::judge;

namespace {

std::string complaint_of(const std::string& text) {
  try {
    (void)read_request(text);
  } catch (const malformed& x) {
    return x.what;
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(judge_codec_test)

BOOST_AUTO_TEST_CASE(a_request_is_read_with_its_defaults) {
  const auto got = read_request(R"({"request_version":1,"kind":"probe","question_timeout_ms":7})");
  BOOST_TEST((got.kind == request_kind::probe));
  BOOST_TEST(got.trials == 4U);
  BOOST_TEST(got.question_timeout.count() == 7);
  BOOST_TEST(got.hello_timeout.count() == 7);
  BOOST_TEST((tolerances_for(got, {}).of(element_type::float32) == tolerance{1e-4, 1e-4, 1e-3}));
  BOOST_TEST((got.tightened == strictness::usual));
}

BOOST_AUTO_TEST_CASE(a_request_says_what_differs) {
  const auto got = read_request(R"({"request_version":1,"kind":"judge","stage":"extract","trials":2,"body_limit":5,
    "hello_timeout_ms":9,"tolerances":{"bfloat16":{"norm":0.5}},"allow_tf32":true,"reference_is_warm":true,
    "needs_affine":true,"engine":"cuda-sm_90","tightened":["scale","tenth"],"is_weak":true,"allow_weak":true})");
  BOOST_TEST((got.stage == judged_stage::extract));
  BOOST_TEST(got.trials == 2U);
  BOOST_TEST(got.body_limit == 5U);
  BOOST_TEST(got.hello_timeout.count() == 9);
  const auto limits = tolerances_for(got, {{tolerance_group::bfloat16, 0.3, 0.2, 0.1}}).of(element_type::bfloat16);
  // The request's word before the problem's, the problem's before our own; then a tenth.
  BOOST_TEST(limits.atol == 0.03, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(limits.norm == 0.05, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(limits.is_relative);
  BOOST_TEST(got.is_weak);
  BOOST_TEST(got.allows_weak);
  BOOST_TEST(got.allows_tf32);
  BOOST_TEST(got.is_reference_warm);
  BOOST_TEST(got.needs_affine);
  BOOST_TEST(got.engine == "cuda-sm_90");
}

BOOST_AUTO_TEST_CASE(a_request_that_is_none_is_refused_by_name) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "no JSON object"},
      {R"({"kind":"judge"})", "request_version"},
      {R"({"request_version":2,"kind":"judge"})", "request_version"},
      {R"({"request_version":1})", "no kind"},
      {R"({"request_version":1,"kind":"x"})", "judge, probe"},
      {R"({"request_version":1,"kind":"judge","stage":"x"})", "extract, kernel, compose"},
      {R"({"request_version":1,"kind":"judge","trials":0})", "trials"},
      {R"({"request_version":1,"kind":"judge","body_limit":-1})", "body_limit"},
      {R"({"request_version":1,"kind":"judge","allow_tf32":1})", "allow_tf32"},
      {R"({"request_version":1,"kind":"judge","tolerances":{"float31":{}}})", "got \"float31\", allowed: objects for float64, float32"},
      {R"({"request_version":1,"kind":"judge","tolerances":{"float32":{"atoll":1}}})", "got \"atoll\", allowed: atol, rtol, norm"},
      {R"({"request_version":1,"kind":"judge","tolerances":{"float32":{"norm":1.5}}})", "float32.norm: got 1.5, allowed: a number from 0 to 1"},
      {R"({"request_version":1,"kind":"judge","tightened":["much"]})", "usual, scale, tenth"},
      {R"({"request_version":1,"kind":"judge","tolerances":{"float32":{"atol":-1}}})", "atol"},
      {R"({"request_version":1,"kind":"judge","tolerances":{"float32":{"rtol":"1"}}})", "rtol"},
  };
  for (const auto& [text, wanted] : table) {
    BOOST_TEST_CONTEXT(text) { BOOST_TEST(complaint_of(text).find(wanted) != std::string::npos, complaint_of(text)); }
  }
}

BOOST_AUTO_TEST_CASE(a_verdict_is_one_json_object) {
  judge_verdict x;
  x.judgement = ending::mismatch;
  x.reason = "why";
  x.mark("a");
  x.mark("a");
  trial_record trial;
  trial.figures.norm = std::numeric_limits<double>::infinity();
  x.trials.push_back(trial);
  const auto got = nlohmann::json::parse(write_verdict(x));
  BOOST_TEST(got.at("judgement") == "mismatch");
  BOOST_TEST(got.at("marks").size() == 1U);
  BOOST_TEST(got.at("trials").at(0).at("norm").is_null());
  BOOST_TEST(got.at("reference_usable") == true);
  BOOST_TEST(got.at("tolerances").at("float32").at("norm") == 1e-3);
}

BOOST_AUTO_TEST_CASE(text_of_a_side_is_made_plain) {
  BOOST_TEST(plain_text("a\x1b[31m\tb\nc\x7f\xC2\x9B!", 100) == "a?[31m\tb\nc?" "?!");
  BOOST_TEST(plain_text("\xE2\x80\xAE" "abc", 100) == "abc");
  BOOST_TEST(plain_line("first\nsecond", 100) == "first");
  // A long text keeps its end, from the start of a character.
  const auto cut = plain_text(std::string(100, 'x') + "\xC3\xA4" "end", 8);
  BOOST_TEST(cut == "…\nend");
  BOOST_TEST(plain_text("", 5) == "");
}

BOOST_AUTO_TEST_SUITE_END()
