// SPDX-License-Identifier: Apache-2.0
#include "node/judge_codec.hpp"
#include "node/judge_memory.hpp"
#include "node/judging.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using namespace regatta;

sandbox::run_result ended(outcome how, const std::string& reason = "exit status 0") {
  sandbox::run_result out;
  out.outcome = how;
  out.reason = reason;
  return out;
}

sandbox::run_result comparator(const std::string& verdict) {
  auto out = ended(outcome::exited);
  out.kept.push_back({judge_verdict_file, verdict, ""});
  return out;
}

std::string text_of_verdict(const std::string& judgement) {
  return R"({"judge_version":2,"judgement":")" + judgement + R"(","reason":"why","feedback":"for the model","trials":[]})";
}

judged_end judged(const std::string& word, outcome candidate, outcome reference = outcome::cancelled) {
  const auto side = ended(candidate, "candidate's end");
  return judge_ends(comparator(text_of_verdict(word)), ended(reference, "reference's end"), &side);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(judging_rules)

BOOST_AUTO_TEST_CASE(a_verdict_stands_however_the_side_was_ended_afterwards) {
  for (const auto how : {outcome::exited, outcome::cancelled, outcome::killed_by_signal, outcome::exited_nonzero,
                         outcome::timed_out, outcome::out_of_memory}) {
    const auto right = judged("correct", how);
    BOOST_TEST(right.run.outcome == outcome::exited);
    BOOST_TEST(right.judgement == judgement::correct);
    BOOST_TEST(right.run.reason == "why");
    BOOST_TEST(is_accepted({right.run.outcome, right.run.claim, right.judgement}, accept_rule::verified));
    const auto wrong = judged("mismatch", how);
    BOOST_TEST(wrong.judgement == judgement::mismatch);
    BOOST_TEST(wrong.feedback == "for the model");
    BOOST_TEST(wrong.record.find("\"trials\"") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_side_that_is_gone_ends_as_its_sandbox_saw_it) {
  BOOST_TEST(judged("candidate_gone", outcome::killed_by_signal).run.outcome == outcome::killed_by_signal);
  BOOST_TEST(judged("candidate_gone", outcome::out_of_memory).run.outcome == outcome::out_of_memory);
  BOOST_TEST(judged("candidate_gone", outcome::exited_nonzero).judgement == judgement::not_judged);
  const auto left = judged("candidate_gone", outcome::exited);
  BOOST_TEST(left.judgement == judgement::raised);
  BOOST_TEST(!is_accepted({left.run.outcome, left.run.claim, left.judgement}, accept_rule::verified));
  const auto closed = judged("candidate_gone", outcome::cancelled);
  BOOST_TEST(closed.judgement == judgement::raised);
  BOOST_TEST(closed.run.outcome == outcome::exited);
  const auto silent = judged("timed_out", outcome::cancelled);
  BOOST_TEST(silent.run.outcome == outcome::timed_out);
  BOOST_TEST(silent.run.reason == "why");
}

BOOST_AUTO_TEST_CASE(the_problem_is_to_blame_for_its_own_side) {
  const auto gone = judged("reference_gone", outcome::cancelled, outcome::out_of_memory);
  BOOST_TEST(gone.judgement == judgement::too_large);
  BOOST_TEST(judged("reference_gone", outcome::cancelled, outcome::exited_nonzero).judgement == judgement::problem_failed);
  BOOST_TEST(gone.run.reason.find("reference's end") != std::string::npos);
  BOOST_TEST(judged("reference_gone", outcome::cancelled, outcome::sandbox_failed).run.outcome == outcome::sandbox_failed);
}

BOOST_AUTO_TEST_CASE(a_judge_that_fails_is_no_verdict) {
  const auto side = ended(outcome::exited);
  const auto reference = ended(outcome::cancelled);
  const std::string bad[] = {"", "{", "[]", "{}", R"({"judge_version":2})", R"({"judge_version":999,"judgement":"correct"})",
                             R"({"judge_version":"2","judgement":"correct"})", text_of_verdict("not_judged"), text_of_verdict("right"),
                             R"({"judge_version":2,"judgement":7})"};
  for (const auto& text : bad) {
    const auto end = judge_ends(comparator(text), reference, &side);
    BOOST_TEST(end.run.outcome == outcome::sandbox_failed, text);
    BOOST_TEST(end.judgement == judgement::not_judged, text);
  }
  auto nothing = ended(outcome::exited);
  BOOST_TEST(judge_ends(nothing, reference, &side).run.outcome == outcome::sandbox_failed);
  // A verdict on disk counts for nothing if its writer did not end well.
  auto crashed = comparator(text_of_verdict("correct"));
  crashed.outcome = outcome::killed_by_signal;
  BOOST_TEST(judge_ends(crashed, reference, &side).run.outcome == outcome::sandbox_failed);
}

BOOST_AUTO_TEST_CASE(who_was_cancelled_is_cancelled_and_who_had_no_sandbox_was_not_judged) {
  const auto stopped = ended(outcome::cancelled, "cancelled");
  BOOST_TEST(judge_ends(stopped, stopped, &stopped).run.outcome == outcome::cancelled);
  BOOST_TEST(judged("correct", outcome::sandbox_failed).run.outcome == outcome::sandbox_failed);
  const auto late = ended(outcome::timed_out);
  BOOST_TEST(judge_ends(late, stopped, &late).run.outcome == outcome::timed_out);
}

BOOST_AUTO_TEST_CASE(a_probe_has_no_candidate) {
  const auto reference = ended(outcome::cancelled);
  BOOST_TEST(judge_ends(comparator(text_of_verdict("weak_oracle")), reference, nullptr).judgement == judgement::weak_oracle);
  BOOST_TEST(judge_ends(comparator(text_of_verdict("correct")), reference, nullptr).judgement == judgement::correct);
}

BOOST_AUTO_TEST_CASE(a_request_carries_the_terms) {
  judge_question question{"kernel", false, {}};
  question.terms.trials = 7;
  question.terms.tolerances = {{"float32", 1e-3, -1, 0}};
  question.terms.tightened = {"scale"};
  question.terms.is_weak = true;
  const auto text = judge_request(question, std::chrono::milliseconds{5}, 100, {});
  for (const auto* part : {R"("trials":7)", R"("tolerances":{"float32":{"atol":0.001,"norm":0.0}})", R"("tightened":["scale"])",
                           R"("is_weak":true)", R"("allow_weak":false)", R"("body_limit":200)"}) {
    BOOST_TEST(text.find(part) != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(a_timing_is_asked_for_as_such_and_told_of_its_host) {
  judge_question question{"kernel", false, {}};
  question.is_timing = true;
  const auto text = judge_request(question, std::chrono::milliseconds{90'000}, 100, {4096, 4.8e12});
  for (const auto* part : {R"("kind":"time")", R"("timing_budget_ms":30000)", R"("timing_bytes":4096)",
                           R"("bytes_per_s":4800000000000.0)"}) {
    BOOST_TEST(text.find(part) != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(a_probe_tells_what_candidates_are_to_be_judged_by) {
  const auto got = findings_of(R"({"marks":["needs_affine"],"tightened":["scale","tenth"],"question_bytes":12})");
  BOOST_TEST(got.needs_affine);
  BOOST_TEST(got.tightened.size() == 2U);
  BOOST_TEST(got.question_bytes == 12U);
  BOOST_TEST(findings_of("{").tightened.empty());
}

BOOST_AUTO_TEST_CASE(the_room_for_a_question_is_bounded_by_whatever_is_smallest) {
  run_limits limits;
  limits.memory = 8 * GiB;
  const memory_at_hand roomy{256 * GiB, 0};
  BOOST_TEST(question_room(limits, roomy) == 7 * GiB / 2);
  BOOST_TEST(question_room(limits, {24 * GiB, 0}) == 7 * GiB / 2);
  BOOST_TEST(question_room(limits, {13 * GiB, 0}) == 2 * GiB);
  BOOST_TEST(question_room(limits, {256 * GiB, 10 * GiB}) == 2 * GiB);
  limits.memory = 64 * MiB;
  BOOST_TEST(question_room(limits, roomy) == 16 * MiB);
}

BOOST_AUTO_TEST_SUITE_END()
