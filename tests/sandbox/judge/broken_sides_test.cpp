// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/judge/judged.hpp"

using namespace regatta::judge;
using namespace regatta::judge::testing;
using regatta::to_string;

BOOST_AUTO_TEST_SUITE(broken_sides_test)

BOOST_AUTO_TEST_CASE(what_a_candidate_says_of_its_failure_is_passed_on) {
  for (const char* name : {"raised", "contract_violation", "compile_failed"}) {
    const auto got = judged([&](const message& x) { return failed_message(x, name, "ZeroDivisionError: oh"); });
    BOOST_TEST(to_string(got.judgement) == name);
    BOOST_TEST(got.reason == "ZeroDivisionError: oh");
    BOOST_TEST(has(got.feedback, "Traceback: ZeroDivisionError"), got.feedback);
    BOOST_TEST(got.is_reference_usable);
  }
}

BOOST_AUTO_TEST_CASE(a_candidate_cannot_call_the_problem_bad) {
  for (const char* name : {"correct", "problem_failed", "not_judgeable", "weak_oracle", "too_large", "sandbox_failed", ""}) {
    const auto got = judged([&](const message& x) { return failed_message(x, name, "reason"); });
    BOOST_TEST(to_string(got.judgement) == "contract_violation");
  }
}

BOOST_AUTO_TEST_CASE(a_candidate_that_does_not_load_ends_so) {
  const auto got = judged(says(reference_hello_message(), toy_reference), [](script_pipes& pipes) {
    pipes.send(failed_message({{}, {}}, "compile_failed", "SyntaxError: line 3"));
  });
  check_ends(got, ending::compile_failed, "SyntaxError: line 3");
}

BOOST_AUTO_TEST_CASE(a_candidate_that_ends_or_is_silent_is_told_apart) {
  const script reference = says(reference_hello_message(), toy_reference);
  auto impatient = request_of();
  impatient.question_timeout = impatient.hello_timeout = milliseconds{150};
  check_ends(judged(reference, [](script_pipes&) {}), ending::candidate_gone, "candidate side ended");
  check_ends(judged(reference, [](script_pipes& x) { x.send(candidate_hello_message()); }), ending::candidate_gone, "");
  check_ends(judged(reference, [](script_pipes& x) { x.stay_silent(); }, impatient), ending::timed_out, "candidate");
  const auto got = judged(reference, [](script_pipes& x) {
    x.send(candidate_hello_message());
    x.stay_silent();
  }, impatient);
  check_ends(got, ending::timed_out, "candidate side was silent for 150 ms");
  BOOST_TEST(got.is_reference_usable);
}

BOOST_AUTO_TEST_CASE(a_reference_that_ends_or_is_silent_is_not_the_candidates_fault) {
  const script candidate = says(candidate_hello_message(), toy_candidate);
  auto impatient = request_of();
  impatient.question_timeout = impatient.hello_timeout = milliseconds{150};
  const auto gone = judged([](script_pipes& x) { x.send(reference_hello_message()); }, candidate);
  check_ends(gone, ending::reference_gone, "");
  BOOST_TEST(!gone.is_reference_usable);
  const auto silent = judged([](script_pipes& x) { x.stay_silent(); }, candidate, impatient);
  check_ends(silent, ending::timed_out, "reference");
  BOOST_TEST(!silent.is_reference_usable);
  const auto half = judged([](script_pipes& x) {
    message question;
    x.send(reference_hello_message());
    x.read_question(question);
    const auto bytes = frame_of(toy_reference(question));
    x.send(std::string_view{bytes}.substr(0, bytes.size() - 8));
    x.stay_silent();
  }, candidate, impatient);
  check_ends(half, ending::timed_out, "reference");
}

BOOST_AUTO_TEST_CASE(a_reference_says_why_it_cannot) {
  for (const char* name : {"problem_failed", "not_judgeable", "too_large"}) {
    const auto got = judged([&](script_pipes& x) { x.send(failed_message({{}, {}}, name, "why")); },
                            says(candidate_hello_message(), toy_candidate));
    BOOST_TEST(to_string(got.judgement) == name);
    BOOST_TEST(got.reason == "why");
  }
  const auto got = judged(says(reference_hello_message(), [](const message& x) { return failed_message(x, "correct", "y"); }),
                          says(candidate_hello_message(), toy_candidate));
  check_ends(got, ending::problem_failed, "y");
}

BOOST_AUTO_TEST_CASE(answers_that_are_none_are_contract_violations) {
  const std::vector<std::pair<std::function<void(message&)>, std::string>> table{
      {[](message& x) { x.head["id"] = 1; }, "another question"},
      {[](message& x) { x.head.erase("id"); }, "another question"},
      {[](message& x) { x.head["op"] = "hello"; }, "op hello"},
      {[](message& x) { x.head.erase("outputs"); }, "no outputs"},
      {[](message& x) { x.head["outputs"] = 5; }, "no object"},
      {[](message& x) { x.head.erase("parameters"); }, "no parameters"},
      {[](message& x) { x.head["parameters"] = json::array({1}); }, "no object"},
      {[](message& x) { x.head["inputs_after"] = json::array({json::array({9, tensor_node("float32", {1}, 4)})}); },
       "inputs_after"},
      {[](message& x) { x.head["inputs_after"] = json::array({json::array({-2, tensor_node("float32", {1}, 4)})}); },
       "inputs_after"},
      {[](message& x) { x.head["inputs_after"] = 3; }, "inputs_after"},
      {[](message& x) { x.head["function"] = 3; }, "no object"},
      {[](message& x) { x.body += "more"; }, "a body of 124 bytes where the head names 120"},
      {[](message& x) { x.body.clear(); }, "a body of 0 bytes"},
      {[](message& x) { x.body.resize((1 << 20) + 1); }, "the limit is 1048576"},
      {[](message& x) { x.head = json::array(); }, "no JSON object"},
      {[](message& x) { x.head = {{"op", "failed"}, {"id", x.head["id"]}, {"judgement", "raised"}, {"reason", "r"}}; },
       "a body beside"},
  };
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto got = judged(with_message(table[i].first));
    BOOST_TEST_CONTEXT("row " << i) {
      check_ends(got, ending::contract_violation, table[i].second);
      BOOST_TEST(got.is_reference_usable);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_from_a_reference_is_the_problems_fault) {
  const auto got = judged(says(reference_hello_message(),
                               [](const message& x) {
                                 auto out = toy_reference(x);
                                 out.head["exact"] = tensor_node("float32", {toy_rows, toy_columns}, 120);
                                 return out;
                               }),
                          says(candidate_hello_message(), toy_candidate));
  check_ends(got, ending::problem_failed, "exact outputs");
  const auto unknown = judged(says(reference_hello_message(),
                                   [](const message& x) {
                                     auto out = toy_reference(x);
                                     out.head["outputs"] = {{"t", "unknown"}, {"v", "Thing"}};
                                     return out;
                                   }),
                              says(candidate_hello_message(), toy_candidate));
  check_ends(unknown, ending::not_judgeable, "object of type Thing");
}

BOOST_AUTO_TEST_CASE(a_reference_serves_one_candidate_after_another) {
  scripted_side reference{says(reference_hello_message(), toy_reference)};
  auto warm = request_of();
  for (const auto& candidate : std::vector<answering>{
           toy_candidate, with_outputs([](auto& x) { x[0] += 1; }),
           with_message([](message& x) { x.head["outputs"] = 1; }), toy_candidate}) {
    scripted_side side_of_candidate{says(candidate_hello_message(), candidate)};
    auto from_reference = reference.open(side::reference, warm.body_limit);
    auto from_candidate = side_of_candidate.open(side::candidate, warm.body_limit);
    const auto got = judge_candidate(warm, from_reference, from_candidate);
    BOOST_TEST(got.is_reference_usable);
    BOOST_TEST(got.reference.torch == "2.13.0");
    warm.is_reference_warm = true;
  }
}

BOOST_AUTO_TEST_SUITE_END()
