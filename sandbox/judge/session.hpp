// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order of business for one candidate (docs/judge.md). Whatever a side does ends in a verdict.
#pragma once

#include "sandbox/judge/exchange.hpp"
#include "sandbox/judge/judge_words.hpp"

namespace regatta::judge {

/// Bytes and waits only through the two channels. Throws nothing but what is our own or the host's failure.
judge_verdict judge_candidate(const judge_request& request, channel& reference, channel& candidate);

/// Before a race: is the reference repeatable, and does it tell right from cheap wrong answers?
judge_verdict probe_problem(const judge_request& request, channel& reference);

/// How fast is a candidate that is right, beside the reference? The verdict is about the outputs of timed calls, and
/// `timing` is there.
judge_verdict time_candidate(const judge_request& request, channel& reference, channel& candidate);

inline constexpr const char* bfloat16_reason =
    "bfloat16 is not judged by Triton's interpreter, which truncates where a device rounds: a GPU is needed";

/// The judge's own, what the problem wants instead, what the request wants instead; then tightened.
tolerance_table tolerances_for(const judge_request& request, const std::vector<tolerance_wish>& of_problem);

/// After whatever came: the rest of an answer is read, so that the side can serve the next comparator. False: it cannot.
bool settle_reference(channel& reference, std::chrono::milliseconds patience);

}  // namespace regatta::judge
