// SPDX-License-Identifier: Apache-2.0
/// \file
/// The request on stdin and the verdict on stdout (docs/judge.md).
#pragma once

#include "sandbox/judge/answer_comparison.hpp"
#include "sandbox/judge/exchange.hpp"
#include "sandbox/judge/kept_answer.hpp"
#include "sandbox/judge/ending.hpp"
#include "sandbox/judge/side_words.hpp"
#include "sandbox/judge/timing_rules.hpp"
#include "sandbox/judge/tolerance.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::judge {

inline constexpr int request_version = 1;
/// Grows with every change of what is right.
inline constexpr int judge_version = 2;

enum class request_kind : std::uint8_t { judge, probe, time };
enum class judged_stage : std::uint8_t { extract, kernel, compose };

struct judge_request {
  request_kind kind = request_kind::judge;
  judged_stage stage = judged_stage::kernel;
  unsigned trials = 4;
  std::chrono::milliseconds question_timeout{30'000};
  std::chrono::milliseconds hello_timeout{30'000};
  std::uint64_t body_limit = 0;
  std::vector<tolerance_wish> tolerances;  ///< They win over the problem's own.
  strictness tightened = strictness::usual;
  std::uint64_t most_kept = most_kept_bytes, most_probed = most_probed_bytes;
  bool allows_tf32 = false;
  bool is_reference_warm = false;
  bool needs_affine = false;
  bool is_weak = false;     ///< Idleness passes: who is right is `weak_oracle` …
  bool allows_weak = false; ///< … or `correct` and marked.
  std::vector<std::string> policy_off;  ///< Names of rules that are not applied.
  std::string engine;
  std::chrono::milliseconds timing_budget{40'000};  ///< Of a timing: no new pair after it, once there are enough.
  double bytes_per_s = 0;                           ///< How fast the device moves memory at most; 0: not known.
  regatta::judge::timing_room timing_room;
};

struct trial_record {
  question asked;
  trial_figures figures;
  std::chrono::milliseconds reference_time{}, candidate_time{};
  bool is_right = true;
  bool is_transplanted = false;
};

struct judge_verdict {
  ending judgement = ending::correct;
  std::string reason, feedback;
  bool is_transplanted = false;
  std::vector<std::string> marks, weak;
  std::string kernel_evidence = "not_looked";
  std::string function_refused;  ///< Why kernel_function was not compared with forward; empty: it was, or has no part.
  std::string launched;  ///< JSON: a list of launches that the interpreter saw; empty: none.
  std::vector<policy_finding> policy;
  std::vector<trial_record> trials;
  tolerance_table tolerances;
  strictness tightened = strictness::usual;  ///< Of a probe: what it takes.
  std::uint64_t question_bytes = 0;          ///< Of a probe: inputs, outputs and parameters; 0: not told.
  std::string problem_digest;
  std::string engine, mode;
  side_versions reference, candidate;
  bool is_reference_usable = true;
  std::optional<timing_report> timing;

  void mark(const std::string& x);
};

/// Throws malformed.
judge_request read_request(std::string_view text);
std::string write_verdict(const judge_verdict& x);

}  // namespace regatta::judge

REGATTA_ENUM_NAMES(regatta::judge::request_kind, 3, {regatta::judge::request_kind::judge, "judge"},
                   {regatta::judge::request_kind::probe, "probe"}, {regatta::judge::request_kind::time, "time"});
REGATTA_ENUM_NAMES(regatta::judge::judged_stage, 3, {regatta::judge::judged_stage::extract, "extract"},
                   {regatta::judge::judged_stage::kernel, "kernel"},
                   {regatta::judge::judged_stage::compose, "compose"});
