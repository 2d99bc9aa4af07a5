// SPDX-License-Identifier: Apache-2.0
/// \file
/// The comparator's request and verdict as JSON (docs/judge.md).
#pragma once

#include "messages/limits.hpp"
#include "messages/outcome.hpp"
#include "node/judge_specs.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// How much a side may hold in a timing, and how fast its device moves memory (0: not known).
struct timing_host {
  byte_count room = 0;
  double bytes_per_s = 0;
};
std::string judge_request(const judge_question& question, std::chrono::milliseconds wall, byte_count room,
                          const timing_host& host);

/// What a probe found that its race's terms take over.
struct probe_findings {
  bool needs_affine = false;
  std::vector<std::string> tightened;
  std::uint64_t question_bytes = 0;
};
probe_findings findings_of(std::string_view record);

/// Whether a verdict's record carries this mark.
bool has_mark(std::string_view record, std::string_view mark);

/// Empty if it is no verdict of a version we know.
std::optional<judge_verdict> parse_judge_verdict(std::string_view text);

}  // namespace regatta
