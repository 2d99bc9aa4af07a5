// SPDX-License-Identifier: Apache-2.0
// Problems that are too large to be sent: both sides draw the inputs.
#include "tests/sandbox/judge/judged.hpp"

using namespace regatta::judge;
using namespace regatta::judge::testing;
using regatta::to_string;

namespace {

constexpr std::size_t input_bytes = toy_rows * toy_columns * sizeof(float);

judge_request request_of_large() {
  auto out = request_of();
  out.most_kept = 16;  // anything is large then
  return out;
}

message large_hello() {
  auto out = reference_hello_message();
  out.head["recipe"] = "def get_inputs(): ...";
  out.head["question_bytes"] = 1 << 30;
  return out;
}

message drawing_reference(const message& question) {
  auto out = toy_reference(question);
  if (question.head.value("inputs", "") == "drawn") {
    out.body.erase(0, input_bytes);
    out.head["input_sha256"] = json::array({"of " + std::to_string(question.head.at("input_seed").get<std::uint64_t>())});
  }
  return out;
}

/// Draws as the reference does, whatever `digest` makes of it.
answering drawing_candidate(std::function<std::string(std::string)> digest, unsigned& sent) {
  return [digest = std::move(digest), &sent](const message& question) {
    if (question.head.at("op") == "evidence") {
      return message{{{"op", "evidence"}, {"id", question.head.at("id")}, {"kernel_evidence", "inconsistent"}}, {}};
    }
    const auto weights = weights_of_seed(question.head.at("init_seed").get<std::uint64_t>(), question.head.at("style"));
    if (!question.head.contains("draw")) {
      ++sent;
      return toy_candidate(question);
    }
    BOOST_TEST(question.body.empty());
    const auto seed = question.head.at("draw").at("input_seed").get<std::uint64_t>();
    auto out = candidate_answer_message(question, toy_forward(toy_inputs(seed), weights), weights);
    out.head["input_sha256"] = json::array({digest("of " + std::to_string(seed))});
    return out;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(drawn_inputs_test)

BOOST_AUTO_TEST_CASE(both_sides_draw_what_is_too_large_to_be_sent) {
  unsigned sent = 0;
  const auto same = drawing_candidate([](std::string x) { return x; }, sent);
  const auto got = judged(says(large_hello(), drawing_reference), says(candidate_hello_message(), same), request_of_large());
  check_ends(got, ending::correct, "");
  BOOST_TEST(has_mark(got, "inputs_drawn"));
  BOOST_TEST(sent == 0U);
}

BOOST_AUTO_TEST_CASE(who_draws_something_else_gets_them_sent) {
  unsigned sent = 0;
  const auto other = drawing_candidate([](std::string x) { return x + "!"; }, sent);
  const auto got = judged(says(large_hello(), drawing_reference), says(candidate_hello_message(), other), request_of_large());
  check_ends(got, ending::correct, "");
  BOOST_TEST(!has_mark(got, "inputs_drawn"));
  BOOST_TEST(sent == 4U);
  // Or cannot draw them at all.
  const answering cannot = [](const message& question) {
    return question.head.contains("draw") ? message{{{"op", "answer"}, {"id", question.head.at("id")}, {"undrawn", "why"}}, {}}
                                          : toy_candidate(question);
  };
  check_ends(judged(says(large_hello(), drawing_reference), says(candidate_hello_message(), cannot), request_of_large()),
             ending::correct, "");
}

BOOST_AUTO_TEST_CASE(small_ones_and_those_without_a_recipe_are_sent) {
  unsigned sent = 0;
  const auto same = drawing_candidate([](std::string x) { return x; }, sent);
  check_ends(judged(says(large_hello(), drawing_reference), says(candidate_hello_message(), same)), ending::correct, "");
  BOOST_TEST(sent == 4U);
  check_ends(judged(says(reference_hello_message(), drawing_reference), says(candidate_hello_message(), same),
                    request_of_large()), ending::correct, "");
  BOOST_TEST(sent == 8U);
}

BOOST_AUTO_TEST_CASE(evidence_is_asked_for_afterwards) {
  unsigned sent = 0;
  const auto same = drawing_candidate([](std::string x) { return x; }, sent);
  const answering late = [same](const message& question) {
    auto out = same(question);
    if (out.head.at("op") == "answer") {
      out.head["kernel_evidence"] = "later";
    }
    return out;
  };
  const auto got = judged(says(large_hello(), drawing_reference), says(candidate_hello_message(), late), request_of_large());
  check_ends(got, ending::policy_violation, "kernel_evidence");
  BOOST_TEST(got.kernel_evidence == "inconsistent");
}

BOOST_AUTO_TEST_CASE(what_was_not_kept_must_be_left_alone) {
  const auto change = [](message& x) {
    x.head["inputs_after"] = json::array({json::array({0, tensor_node("float32", {toy_rows, toy_columns}, input_bytes)})});
    x.body += std::string(input_bytes, '\0');
  };
  auto one = request_of_large();
  one.trials = 1;
  const auto reference = says(reference_hello_message(), toy_reference);
  check_ends(judged(reference, says(candidate_hello_message(), with_message(change)), one), ending::mismatch,
             "your code changes it");
  const auto in_place = says(reference_hello_message(), [&](const message& x) {
    auto out = toy_reference(x);
    change(out);
    return out;
  });
  check_ends(judged(in_place, says(candidate_hello_message(), toy_candidate), one), ending::mismatch, "in place");
  check_ends(judged(in_place, says(candidate_hello_message(), with_message(change)), one), ending::correct, "");
}

BOOST_AUTO_TEST_CASE(many_parameters_go_ahead_of_the_question) {
  unsigned kept = 0;
  std::string given;
  const answering candidate = [&](const message& question) {
    if (question.head.at("op") == "keep") {
      ++kept;
      given = question.body;
      return message{{{"op", "kept"}, {"id", question.head.at("id")}}, {}};
    }
    if (question.head.at("parameters") == "kept") {
      const auto all = floats_of(given);
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(toy_columns);
      const toy_weights own{{all.begin(), middle}, {middle, all.end()}};
      return candidate_answer_message(question, toy_forward(asked_inputs_of(question), own), own);
    }
    const auto own = weights_of_seed(question.head.at("init_seed").get<std::uint64_t>() + 1, "x+affine");
    return candidate_answer_message(question, toy_forward(asked_inputs_of(question), own), own);
  };
  const auto got = judged(says(reference_hello_message(), toy_reference), says(candidate_hello_message(), candidate),
                          request_of_large());
  check_ends(got, ending::correct, "");
  BOOST_TEST(has_mark(got, "weights_transplanted"));
  BOOST_TEST(kept == 4U);
}

BOOST_AUTO_TEST_SUITE_END()
