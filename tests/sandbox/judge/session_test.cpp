// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/session.hpp"
#include "tests/sandbox/judge/toy_sides.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace regatta::judge;
using regatta::to_string;
using namespace regatta::judge::testing;
using std::chrono::milliseconds;

namespace {

using answering = std::function<message(const message&)>;
using script = std::function<void(script_pipes&)>;

judge_request request_of(unsigned trials = 4) {
  judge_request out;
  out.trials = trials;
  out.question_timeout = out.hello_timeout = milliseconds{10'000};
  out.body_limit = 1 << 20;
  return out;
}

judge_verdict judged(const script& reference, const script& candidate, const judge_request& request = request_of()) {
  scripted_side a{reference}, b{candidate};
  auto from_reference = a.open(side::reference, request.body_limit);
  auto from_candidate = b.open(side::candidate, request.body_limit);
  return judge_candidate(request, from_reference, from_candidate);
}

judge_verdict judged(const answering& candidate, const judge_request& request = request_of()) {
  return judged(says(reference_hello_message(), toy_reference), says(candidate_hello_message(), candidate), request);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool has_mark(const judge_verdict& x, const std::string& mark) {
  return std::find(x.marks.begin(), x.marks.end(), mark) != x.marks.end();
}

/// The honest answer with something done to its numbers.
answering with_outputs(std::function<void(std::vector<float>&)> change) {
  return [change](const message& question) {
    const auto weights = asked_weights_of(question);
    auto out = toy_forward(asked_inputs_of(question), weights);
    change(out);
    return candidate_answer_message(question, out, weights);
  };
}

/// The honest answer with something done to its head or body.
answering with_message(std::function<void(message&)> change) {
  return [change](const message& question) {
    auto out = toy_candidate(question);
    change(out);
    return out;
  };
}

void check_ends(const judge_verdict& got, ending wanted, std::string_view reason) {
  BOOST_TEST(to_string(got.judgement) == to_string(wanted), got.reason);
  BOOST_TEST(has(got.reason, reason), got.reason);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session_test)

BOOST_AUTO_TEST_CASE(an_honest_candidate_is_correct) {
  const auto got = judged(toy_candidate);
  check_ends(got, ending::correct, "");
  BOOST_TEST(got.trials.size() == 4U);
  BOOST_TEST(got.trials[0].asked.style == "plain");
  BOOST_TEST(got.trials[1].asked.style == "plain+affine");
  BOOST_TEST(got.trials[0].asked.init_seed != got.trials[1].asked.init_seed);
  BOOST_TEST(got.trials[0].asked.init_seed != got.trials[0].asked.input_seed);
  BOOST_TEST(got.marks.empty());
  BOOST_TEST(got.engine == "triton-interpreter");
  BOOST_TEST(got.kernel_evidence == "seen");
  BOOST_TEST(got.is_reference_usable);
}

BOOST_AUTO_TEST_CASE(the_candidate_never_learns_the_seed_of_the_inputs) {
  const auto got = judged([](const message& question) {
    BOOST_TEST(!question.head.contains("input_seed"));
    BOOST_TEST(question.head.at("mode") == "as_constructed");
    return toy_candidate(question);
  });
  check_ends(got, ending::correct, "");
}

BOOST_AUTO_TEST_CASE(a_wrong_element_is_found_and_told) {
  const auto got = judged(with_outputs([](auto& out) { out[7] += 1; }));
  check_ends(got, ending::mismatch, "output: 1 of 30 elements differ, worst at (1, 2)");
  BOOST_TEST(has(got.feedback, "(float32, shape (6, 5))"), got.feedback);
  BOOST_TEST(has(got.feedback, "First elements: got ["), got.feedback);
  BOOST_TEST(!has(got.feedback, "weights"), got.feedback);
  BOOST_TEST(got.trials.size() == 1U);
}

BOOST_AUTO_TEST_CASE(feedback_says_what_a_wrong_output_looks_like) {
  const std::vector<std::pair<std::function<void(std::vector<float>&)>, std::string>> table{
      {[](auto& x) { std::fill(x.begin(), x.end(), 0.0F); }, "Every element of your output is zero."},
      {[](auto& x) { std::fill(x.begin(), x.end(), 1.5F); }, "Every element of your output is 1.5."},
      {[](auto& x) { x[3] = std::numeric_limits<float>::quiet_NaN(); }, "1 elements are NaN or infinite"},
      {[](auto& x) { std::for_each(x.begin(), x.end(), [](float& y) { y *= 0.5F; }); }, "about 0.5 times what is expected"},
      {[](auto& x) { std::for_each(x.begin(), x.end(), [](float& y) { y += 2; }); }, "plus about 2, everywhere"},
      {[](auto& x) { std::for_each(x.begin(), x.end(), [](float& y) { y *= y > 0 ? 1.001F : 0.999F; }); }, "TF32"},
  };
  for (const auto& [change, wanted] : table) {
    const auto got = judged(with_outputs(change));
    check_ends(got, ending::mismatch, "");
    BOOST_TEST(has(got.feedback, wanted), got.feedback);
  }
}

BOOST_AUTO_TEST_CASE(another_dtype_or_shape_is_a_mismatch) {
  const auto shape = judged(with_message([](message& x) {
    x.head["outputs"] = tensor_node("float32", {toy_columns, toy_rows}, x.body.size());
  }));
  check_ends(shape, ending::mismatch, "output: got tensor float32 (5, 6), expected tensor float32 (6, 5)");
  BOOST_TEST(shape.is_reference_usable);
  const auto type = judged(with_message([](message& x) {
    x.head["outputs"] = tensor_node("int32", {toy_rows, toy_columns}, x.body.size());
  }));
  check_ends(type, ending::mismatch, "got tensor int32");
}

BOOST_AUTO_TEST_CASE(right_on_default_values_only_is_marked) {
  // Forgets weight and bias: right as long as they are ones and zeros.
  const answering forgets = [](const message& question) {
    return candidate_answer_message(question, asked_inputs_of(question), asked_weights_of(question));
  };
  const auto got = judged(forgets);
  check_ends(got, ending::correct, "");
  BOOST_TEST(has_mark(got, "default_affine_only"));
  auto strict = request_of();
  strict.needs_affine = true;
  const auto refused = judged(forgets, strict);
  check_ends(refused, ending::mismatch, "");
  BOOST_TEST(has(refused.feedback, "default values of affine parameters only"), refused.feedback);
}

BOOST_AUTO_TEST_CASE(weights_made_in_another_order_are_put_in_place) {
  unsigned with_parameters = 0;
  const auto got = judged([&](const message& question) {
    const bool is_given = !question.head.at("parameters").is_null();
    with_parameters += is_given ? 1 : 0;
    const auto own = is_given ? asked_weights_of(question)
                              : weights_of_seed(question.head.at("init_seed").get<std::uint64_t>() + 1, "x+affine");
    return candidate_answer_message(question, toy_forward(asked_inputs_of(question), own), own);
  });
  check_ends(got, ending::correct, "");
  BOOST_TEST(got.is_transplanted);
  BOOST_TEST(has_mark(got, "weights_transplanted"));
  // One question more than trials, and all but the first with parameters.
  BOOST_TEST(got.trials.size() == 5U);
  BOOST_TEST(with_parameters == 4U);
}

BOOST_AUTO_TEST_CASE(weights_without_a_place_are_a_mismatch_that_names_them) {
  const auto got = judged([&](const message& question) {
    if (!question.head.at("parameters").is_null()) {
      return failed_message(question, "contract_violation", "no place for bias");
    }
    const auto own = weights_of_seed(question.head.at("init_seed").get<std::uint64_t>() + 1, "x+affine");
    return candidate_answer_message(question, toy_forward(asked_inputs_of(question), own), own);
  });
  check_ends(got, ending::mismatch, "");
  BOOST_TEST(has(got.feedback, "The weights differ"), got.feedback);
  BOOST_TEST(has(got.feedback, "Only in the reference: weight float32 (5,), bias float32 (5,)"), got.feedback);
  BOOST_TEST(has(got.feedback, "could not be put in place: no place for bias"), got.feedback);
}

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

BOOST_AUTO_TEST_CASE(a_problem_that_only_stands_its_defaults_is_judged_by_them) {
  const auto reference = [](const message& x) {
    return x.head.at("style") == "plain" ? toy_reference(x) : failed_message(x, "problem_failed", "assert");
  };
  const auto got = judged(says(reference_hello_message(), reference), says(candidate_hello_message(), toy_candidate));
  check_ends(got, ending::correct, "");
  BOOST_TEST(has_mark(got, "no_affine_trial"));
  BOOST_TEST(got.trials.size() == 4U);
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

BOOST_AUTO_TEST_CASE(inputs_after_the_call_go_by_the_reference) {
  const json changed = json::array({json::array({0, tensor_node("float32", {toy_rows, toy_columns}, 120)})});
  const auto add_changed = [changed](message& x, float value) {
    x.head["inputs_after"] = changed;
    x.body += bytes_of(std::vector<float>(toy_rows * toy_columns, value));
  };
  const auto in_place = [&](const message& question) {
    auto out = toy_reference(question);
    add_changed(out, 2);
    return out;
  };
  const auto reference = says(reference_hello_message(), in_place);
  const auto candidate = [&](std::function<void(message&)> change) {
    return says(candidate_hello_message(), with_message(std::move(change)));
  };
  const auto one = request_of(1);
  check_ends(judged(reference, candidate([&](message& x) { add_changed(x, 2); }), one), ending::correct, "");
  check_ends(judged(reference, candidate([&](message& x) { add_changed(x, 3); }), one), ending::mismatch,
             "input[0] after the call");
  check_ends(judged(reference, candidate([](message&) {}), one), ending::mismatch, "the reference changes it in place");
  const auto plain = says(reference_hello_message(), toy_reference);
  check_ends(judged(plain, candidate([&](message& x) { add_changed(x, 0); }), one), ending::mismatch,
             "your code changes it");
}

BOOST_AUTO_TEST_CASE(a_list_that_grows_must_grow_on_both_sides) {
  const auto grown = [](message& x) {
    const auto tensor = tensor_node("float32", {1}, 4);
    x.head["inputs_after"] = json::array({json::array({-1, list_node({tensor, tensor})})});
    x.body += bytes_of(std::vector<float>{1, 2});
  };
  const auto reference = says(reference_hello_message(), [&](const message& question) {
    auto out = toy_reference(question);
    grown(out);
    return out;
  });
  const auto one = request_of(1);
  check_ends(judged(reference, says(candidate_hello_message(), with_message(grown)), one), ending::correct, "");
  check_ends(judged(reference, says(candidate_hello_message(), toy_candidate), one), ending::mismatch, "a list grows");
}

BOOST_AUTO_TEST_CASE(kernel_function_must_agree_with_forward) {
  const auto with_function = [](float more) {
    return with_message([more](message& x) {
      auto out = floats_of(x.body);
      out[4] += more;
      x.head["function"] = {{"outputs", x.head.at("outputs")}};
      x.body += bytes_of(out);
    });
  };
  check_ends(judged(with_function(0)), ending::correct, "");
  const auto got = judged(with_function(1));
  check_ends(got, ending::mismatch, "kernel_function's output: 1 of 30 elements differ, worst at (0, 4)");
  auto extract = request_of();
  extract.stage = judged_stage::extract;
  check_ends(judged(with_function(1), extract), ending::correct, "");
  const auto refused = judged(with_message([](message& x) { x.head["function"] = {{"refused", "takes no bias"}}; }));
  check_ends(refused, ending::correct, "");
  BOOST_TEST(has_mark(refused, "function_not_compared"));
}

BOOST_AUTO_TEST_CASE(evidence_once_missing_is_missing) {
  unsigned asked = 0;
  const auto got = judged([&](const message& question) {
    auto out = toy_candidate(question);
    out.head["kernel_evidence"] = ++asked == 2 ? "absent" : asked == 3 ? "nonsense" : "seen";
    return out;
  });
  BOOST_TEST(got.kernel_evidence == "absent");
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

BOOST_AUTO_TEST_CASE(tolerances_can_be_set) {
  auto loose = request_of();
  loose.tolerances.groups[static_cast<std::size_t>(tolerance_group::float32)] = {2, 0, 10};
  check_ends(judged(with_outputs([](auto& x) { x[0] += 1; }), loose), ending::correct, "");
}

BOOST_AUTO_TEST_CASE(a_problem_without_float64_is_marked) {
  const auto reference = [](const message& x) {
    return reference_answer_message(x, toy_forward(toy_inputs(x.head.at("input_seed").get<std::uint64_t>()),
                                                   weights_of_seed(x.head.at("init_seed").get<std::uint64_t>(), x.head.at("style"))), {});
  };
  const auto got = judged(says(reference_hello_message(), reference), says(candidate_hello_message(), toy_candidate));
  check_ends(got, ending::correct, "");
  BOOST_TEST(has_mark(got, "no_float64_reference"));
}

BOOST_AUTO_TEST_SUITE_END()
