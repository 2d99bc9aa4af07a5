// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sessions over scripted sides, for tests.
#pragma once

#include "sandbox/judge/session.hpp"
#include "tests/sandbox/judge/toy_sides.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regatta::judge::testing {

using std::chrono::milliseconds;

using answering = std::function<message(const message&)>;
using script = std::function<void(script_pipes&)>;

inline judge_request request_of(unsigned trials = 4) {
  judge_request out;
  out.trials = trials;
  out.question_timeout = out.hello_timeout = milliseconds{10'000};
  out.body_limit = 1 << 20;
  return out;
}

inline judge_verdict judged(const script& reference, const script& candidate, const judge_request& request = request_of()) {
  scripted_side a{reference}, b{candidate};
  auto from_reference = a.open(side::reference, request.body_limit);
  auto from_candidate = b.open(side::candidate, request.body_limit);
  return judge_candidate(request, from_reference, from_candidate);
}

inline judge_verdict judged(const answering& candidate, const judge_request& request = request_of()) {
  return judged(says(reference_hello_message(), toy_reference), says(candidate_hello_message(), candidate), request);
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline bool has_mark(const judge_verdict& x, const std::string& mark) {
  return std::find(x.marks.begin(), x.marks.end(), mark) != x.marks.end();
}

/// The honest answer with something done to its numbers.
inline answering with_outputs(std::function<void(std::vector<float>&)> change) {
  return [change](const message& question) {
    const auto weights = asked_weights_of(question);
    auto out = toy_forward(asked_inputs_of(question), weights);
    change(out);
    return candidate_answer_message(question, out, weights);
  };
}

/// The honest answer with something done to its head or body.
inline answering with_message(std::function<void(message&)> change) {
  return [change](const message& question) {
    auto out = toy_candidate(question);
    change(out);
    return out;
  };
}

inline void check_ends(const judge_verdict& got, ending wanted, std::string_view reason) {
  BOOST_TEST(name_of(got.judgement) == name_of(wanted), got.reason);
  BOOST_TEST(has(got.reason, reason), got.reason);
}


}  // namespace regatta::judge::testing
