// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/judge/judged.hpp"

using namespace regatta::judge;
using namespace regatta::judge::testing;
using regatta::to_string;

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

BOOST_AUTO_TEST_CASE(a_problem_that_only_stands_its_defaults_is_judged_by_them) {
  const auto reference = [](const message& x) {
    return x.head.at("style") == "plain" || x.head.at("style") == "scaled" ? toy_reference(x)
                                                                           : failed_message(x, "problem_failed", "assert");
  };
  const auto got = judged(says(reference_hello_message(), reference), says(candidate_hello_message(), toy_candidate));
  check_ends(got, ending::correct, "");
  BOOST_TEST(has_mark(got, "no_affine_trial"));
  BOOST_TEST(got.trials.size() == 4U);
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

BOOST_AUTO_TEST_CASE(what_torch_computed_is_a_fallback_if_that_rule_is_on) {
  const auto falls_back = [](const message& question) {
    auto out = toy_candidate(question);
    out.head["torch_ops"] = "aten::mm";
    return out;
  };
  auto asked = request_of();
  asked.stage = judged_stage::kernel;
  const auto refused = judged(falls_back, asked);
  BOOST_TEST((refused.judgement == ending::policy_violation));
  BOOST_TEST(refused.reason.find("aten::mm") != std::string::npos);
  BOOST_TEST(refused.policy.back().rule == "torch_fallback");
  asked.policy_off = {"torch_fallback"};
  BOOST_TEST((judged(falls_back, asked).judgement == ending::correct));
  asked.policy_off = {};
  asked.stage = judged_stage::extract;
  BOOST_TEST((judged(falls_back, asked).judgement == ending::correct));
}

BOOST_AUTO_TEST_CASE(tolerances_can_be_set) {
  auto loose = request_of();
  loose.tolerances = {{tolerance_group::float32, 2, 0, 10}};
  check_ends(judged(with_outputs([](auto& x) { x[0] += 1; }), loose), ending::correct, "");
}

BOOST_AUTO_TEST_CASE(the_problems_own_tolerances_count_unless_the_request_says_otherwise) {
  auto hello = reference_hello_message();
  hello.head["tolerances"] = {{"float32", {{"atol", 1}, {"rtol", 1}, {"norm", 1}}}};
  const auto off = with_outputs([](auto& x) { x[0] += 0.5F; });
  const auto reference = says(hello, toy_reference);
  check_ends(judged(reference, says(candidate_hello_message(), off)), ending::correct, "");
  auto strict = request_of();
  strict.tolerances = {{tolerance_group::float32, 1e-4, 1e-4, 1e-3}};
  check_ends(judged(reference, says(candidate_hello_message(), off), strict), ending::mismatch, "");
  hello.head["tolerances"] = {{"float32", {{"atol", -1}}}};
  check_ends(judged(says(hello, toy_reference), says(candidate_hello_message(), off)), ending::problem_failed,
             "float32.atol: got -1, allowed: a number from 0 to 1");
}

BOOST_AUTO_TEST_CASE(one_trial_has_inputs_of_another_size) {
  // Right as long as the inputs are as the problem draws them.
  const answering assumes = [](const message& question) {
    auto out = toy_forward(asked_inputs_of(question), asked_weights_of(question));
    if (question.head.at("style") == "scaled") {
      out[0] += 1;
    }
    return candidate_answer_message(question, out, asked_weights_of(question));
  };
  const auto got = judged(assumes);
  check_ends(got, ending::mismatch, "");
  BOOST_TEST(has(got.feedback, "trial 3 of 4"), got.feedback);
  BOOST_TEST(has(got.feedback, "inputs of any size"), got.feedback);
  // Where the problem itself fails or overflows, nobody is asked for more.
  const answering fails = [](const message& x) {
    return x.head.at("style") == "scaled" ? failed_message(x, "problem_failed", "domain") : toy_reference(x);
  };
  const answering overflows = [](const message& x) {
    return x.head.at("style") == "scaled"
               ? reference_answer_message(x, std::vector<float>(30, std::numeric_limits<float>::infinity()), {})
               : toy_reference(x);
  };
  for (const auto& reference : {fails, overflows}) {
    const auto spared = judged(says(reference_hello_message(), reference), says(candidate_hello_message(), assumes));
    check_ends(spared, ending::correct, "");
    BOOST_TEST(has_mark(spared, "no_scaled_trial"));
  }
}

BOOST_AUTO_TEST_CASE(nobody_is_correct_by_a_weak_oracle) {
  auto request = request_of();
  request.is_weak = true;
  check_ends(judged(toy_candidate, request), ending::weak_oracle, "right as far as can be told");
  check_ends(judged(with_outputs([](auto& x) { x[0] += 1; }), request), ending::mismatch, "");
  request.allows_weak = true;
  const auto got = judged(toy_candidate, request);
  check_ends(got, ending::correct, "");
  BOOST_TEST(has_mark(got, "weak_oracle"));
}

BOOST_AUTO_TEST_CASE(float64_counts_where_the_reference_has_it) {
  // Eager is 1e-3 off everywhere, and says so by its exact outputs.
  const auto reference = [](const message& question) {
    const auto seed = question.head.at("input_seed").get<std::uint64_t>();
    const auto style = question.head.at("style").get<std::string>();
    const auto weights = weights_of_seed(question.head.at("init_seed").get<std::uint64_t>(), style);
    const auto right = toy_forward(toy_inputs(seed), weights);
    auto eager = right;
    std::for_each(eager.begin(), eager.end(), [](float& x) { x += 1e-3F; });
    return reference_answer_message(question, eager, {right.begin(), right.end()});
  };
  const auto got = judged(says(reference_hello_message(), reference), says(candidate_hello_message(), toy_candidate));
  check_ends(got, ending::correct, "");
  BOOST_TEST(got.trials[0].figures.worst_abs == 0);
  BOOST_TEST(got.trials[0].figures.eager_norm > 0);
}

BOOST_AUTO_TEST_CASE(figures_are_relative_to_what_has_a_scale) {
  const auto reference = [](const message& question) {
    const std::vector<float> eager(toy_rows * toy_columns, 1e-8F);
    return reference_answer_message(question, eager, std::vector<double>(eager.size(), 1e-17));
  };
  const auto candidate = with_outputs([](auto& out) { std::fill(out.begin(), out.end(), -1e-8F); });
  const auto got = judged(says(reference_hello_message(), reference), says(candidate_hello_message(), candidate));
  check_ends(got, ending::correct, "");
  BOOST_TEST(got.trials[0].figures.worst_abs > 0);
  BOOST_TEST(got.trials[0].figures.worst_rel == 0);
  BOOST_TEST(got.trials[0].figures.norm == 0);
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
