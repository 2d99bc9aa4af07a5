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

namespace {

using forward = std::function<std::vector<float>(std::vector<float> x, const toy_weights& weights)>;

std::function<message(const message&)> problem_of(forward function) {
  return [function = std::move(function)](const message& question) {
    const auto weights = weights_of_seed(question.head.at("init_seed").get<std::uint64_t>(), question.head.at("style"));
    const auto out = function(toy_inputs(question.head.at("input_seed").get<std::uint64_t>()), weights);
    return reference_answer_message(question, out, {out.begin(), out.end()});
  };
}

judge_verdict probed(const std::function<message(const message&)>& reference, judge_request request = {}) {
  scripted_side script{says(reference_hello_message(), reference)};
  request.kind = request_kind::probe;
  request.body_limit = 1 << 20;
  auto from = script.open(side::reference, request.body_limit);
  return probe_problem(request, from);
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) {
    out += (out.empty() ? "" : " ") + name;
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(probe_test)

BOOST_AUTO_TEST_CASE(a_problem_that_tells_right_from_wrong_is_fine) {
  const auto got = probed(problem_of([](std::vector<float> x, const toy_weights& weights) {
    std::for_each(x.begin(), x.end(), [](float& y) { y = y * y - 2 * y; });
    return toy_forward(x, weights);
  }));
  BOOST_TEST(to_string(got.judgement) == "correct", got.reason);
  BOOST_TEST(joined(got.weak) == "");
  BOOST_TEST(joined(got.marks) == "");
}

BOOST_AUTO_TEST_CASE(what_passes_with_default_weights_only_asks_for_affine_trials) {
  // x * 1 + 0 is x.
  const auto got = probed(toy_reference);
  BOOST_TEST(to_string(got.judgement) == "correct", got.reason);
  BOOST_TEST(joined(got.marks) == "needs_affine");
}

BOOST_AUTO_TEST_CASE(weak_oracles_are_named) {
  const std::vector<std::pair<forward, std::string>> table{
      {[](auto x, const auto&) { return std::vector<float>(x.size(), 0); }, "zeros constant other_seed"},
      {[](auto x, const auto&) { return std::vector<float>(x.size(), 2.5F); }, "constant other_seed"},
      {[](auto x, const auto&) { return x; }, "input_copy"},
      {[](auto x, const auto&) {
         std::vector<float> out(x.size());
         for (std::size_t i = 0; i < x.size(); ++i) {
           out[i] = static_cast<float>(i);
         }
         return out;
       },
       "other_seed"},
      // Nearly the same value everywhere: a mean over many terms.
      {[](auto x, const auto&) {
         for (auto& y : x) {
           y = 5 + 1e-5F * y;
         }
         return x;
       },
       "constant other_seed shuffled"},
  };
  for (const auto& [function, weak] : table) {
    const auto got = probed(problem_of(function));
    BOOST_TEST(to_string(got.judgement) == "weak_oracle");
    BOOST_TEST(joined(got.weak) == weak);
  }
}

BOOST_AUTO_TEST_CASE(small_values_are_no_reason_to_pass) {
  const auto got = probed(problem_of([](std::vector<float> x, const toy_weights&) {
    std::for_each(x.begin(), x.end(), [](float& y) { y = 4e-6F * y * y; });
    return x;
  }));
  BOOST_TEST(to_string(got.judgement) == "correct", got.reason);
}

BOOST_AUTO_TEST_CASE(what_can_be_told_apart_by_stricter_rules_is) {
  const auto problem = [](double spread, double size) {
    return problem_of([=](std::vector<float> x, const toy_weights&) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(size * (x[i] > 0 ? 1 + spread : 1 - spread));
      }
      return x;
    });
  };
  // Half a thousandth away from its mean: within the usual 1e-4 + 1e-4 of 1e-2, not within 1e-4 of the scale.
  const auto scaled = probed(problem(5e-4, 1e-2));
  BOOST_TEST(to_string(scaled.judgement) == "correct", scaled.reason);
  BOOST_TEST((scaled.tightened == strictness::scale));
  BOOST_TEST(scaled.tolerances.of(element_type::float32).is_relative);
  const auto tenth = probed(problem(5e-5, 1));
  BOOST_TEST(to_string(tenth.judgement) == "correct", tenth.reason);
  BOOST_TEST((tenth.tightened == strictness::tenth));
  const auto none = probed(problem(1e-6, 1));
  BOOST_TEST(to_string(none.judgement) == "weak_oracle");
}

BOOST_AUTO_TEST_CASE(a_tenth_of_the_limits_wants_a_reference_that_is_that_precise) {
  const auto eager_of = [](const message& question) {
    std::vector<float> out(toy_rows * toy_columns);
    const auto x = toy_inputs(question.head.at("input_seed").get<std::uint64_t>());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = x[i] > 0 ? 1 + 5e-5F : 1 - 5e-5F;
    }
    return out;
  };
  const auto without = probed([&](const message& x) { return reference_answer_message(x, eager_of(x), {}); });
  BOOST_TEST(to_string(without.judgement) == "weak_oracle");
  const auto rough = probed([&](const message& x) {
    const auto eager = eager_of(x);
    std::vector<double> exact(eager.begin(), eager.end());
    std::for_each(exact.begin(), exact.end(), [](double& y) { y += 4e-5; });
    return reference_answer_message(x, eager, exact);
  });
  BOOST_TEST(to_string(rough.judgement) == "weak_oracle");
}

BOOST_AUTO_TEST_CASE(a_large_answer_is_probed_by_a_sample) {
  judge_request small;
  small.most_probed = 1;  // every piece but the first of each tensor is left out
  const auto fine = probed(problem_of([](std::vector<float> x, const toy_weights& weights) {
    std::for_each(x.begin(), x.end(), [](float& y) { y = y * y - 2 * y; });
    return toy_forward(x, weights);
  }), small);
  BOOST_TEST(to_string(fine.judgement) == "correct", fine.reason);
  BOOST_TEST(joined(fine.marks) == "probed_by_sample");
  const auto weak = probed(problem_of([](auto x, const auto&) { return std::vector<float>(x.size(), 0); }), small);
  BOOST_TEST(joined(weak.weak) == "zeros constant other_seed");
}

BOOST_AUTO_TEST_CASE(a_problem_that_does_not_repeat_itself_cannot_be_judged) {
  float more = 0;
  const auto got = probed(problem_of([&](std::vector<float> x, const toy_weights&) {
    x[3] += more++;
    return x;
  }));
  BOOST_TEST(to_string(got.judgement) == "not_judgeable");
  BOOST_TEST(got.reason.find("the same seeds give other outputs: output: 1 of 30") != std::string::npos, got.reason);
}

BOOST_AUTO_TEST_CASE(a_problem_that_works_in_place_is_not_weak) {
  const auto got = probed([](const message& question) {
    const auto x = toy_inputs(question.head.at("input_seed").get<std::uint64_t>());
    auto out = reference_answer_message(question, std::vector<float>(x.size(), 0), {});
    out.head["inputs_after"] = json::array({json::array({0, tensor_node("float32", {toy_rows, toy_columns}, 120)})});
    out.body += bytes_of(std::vector<float>(x.size(), 7));
    return out;
  });
  BOOST_TEST(to_string(got.judgement) == "correct", got.reason);
}

BOOST_AUTO_TEST_CASE(a_problem_that_fails_is_told_as_it_says) {
  const auto got = probed([](const message& x) { return failed_message(x, "too_large", "9 GiB"); });
  BOOST_TEST(to_string(got.judgement) == "too_large");
  BOOST_TEST(got.reason == "9 GiB");
  BOOST_TEST(got.is_reference_usable);
}

BOOST_AUTO_TEST_SUITE_END()
