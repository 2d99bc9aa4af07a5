// SPDX-License-Identifier: Apache-2.0
/// \file
/// The comparator's request and verdict as JSON (docs/judge.md).
#pragma once

#include "messages/outcome.hpp"
#include "node/judge_specs.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace regatta {

/// How a judging ended, apart from what it found.
enum class judge_end : std::uint8_t {
  judged,
  candidate_gone,  ///< It ended before it had answered: the sandbox knows why.
  reference_gone,
  timed_out,       ///< The candidate did not answer a question in time.
};

struct judge_verdict {
  judge_end end = judge_end::judged;
  regatta::judgement judgement = judgement::not_judged;
  std::string reason;    ///< One line.
  std::string feedback;  ///< For the model.
  std::string record;    ///< The whole verdict, as it came.
};

std::string judge_request(const judge_question& question, std::chrono::milliseconds wall);

/// Whether a verdict's record carries this mark.
bool has_mark(std::string_view record, std::string_view mark);

/// Empty if it is no verdict of a version we know.
std::optional<judge_verdict> parse_judge_verdict(std::string_view text);

}  // namespace regatta
