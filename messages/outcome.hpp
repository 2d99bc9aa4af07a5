// SPDX-License-Identifier: Apache-2.0
/// \file
/// How an evaluation can end. A verdict is three fields that never collapse into one: how the run ended
/// (`outcome`), what the candidate's own test said (`claim`), what our judge found (`judgement`).
#pragma once

#include "messages/endings.hpp"
#include "messages/enums.hpp"
#include "messages/fields.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

/// How the candidate's process tree ended. All but `sandbox_failed` are the candidate's doing.
enum class outcome : std::uint8_t {
  exited,            ///< The main process exited 0 by itself, within all limits.
  exited_nonzero,    ///< … exited with another status.
  killed_by_signal,  ///< … died by a signal that we did not send (segfault, RLIMIT_CPU's SIGXCPU excepted).
  timed_out,         ///< Wall or CPU limit.
  out_of_memory,     ///< The memory limit, seen in the cgroup or as RLIMIT_DATA's effect.
  output_too_large,  ///< Past the hard limit on stdout + stderr; the tree was killed.
  cancelled,         ///< We stopped it: the race was over, or the user said so.
  sandbox_failed,    ///< Our fault or the host's: retried, never counted against the candidate.
};

/// What the candidate's own self-test said, by KernelAgent's rule. `none` unless `outcome::exited`.
enum class claim : std::uint8_t {
  none,
  run_tests,  ///< Exit 0 and the word PASS (`\bPASS\b`) on stdout.
  sentinel,   ///< Exit 0 and ALL_TESTS_PASSED on stdout, no word PASS.
};

/// What a judge that the candidate cannot reach found.
enum class judgement : std::uint8_t {
  not_judged,
  correct,
  mismatch,
  compile_failed,
  raised,
  contract_violation,
  policy_violation,
  device_fault,
  problem_failed,  ///< From here on: not the candidate's fault.
  not_judgeable,
  weak_oracle,
  too_large,
};

struct verdict {
  regatta::outcome outcome = outcome::sandbox_failed;
  regatta::claim claim = claim::none;
  regatta::judgement judgement = judgement::not_judged;
  bool operator==(const verdict&) const = default;
  REGATTA_FIELDS(outcome, claim, judgement);
};
/// The problem's fault, not the candidate's: no other candidate can fare better.
constexpr bool is_of_the_problem(judgement x) { return x >= judgement::problem_failed; }
/// `exited, claimed by run_tests, not_judged`.
std::string to_string(const verdict& x);

/// Which verdicts win a race.
enum class accept_rule : std::uint8_t {
  claimed,   ///< KernelAgent's rule: the candidate's own word. Every output then says "claimed, not verified".
  verified,  ///< Only `judgement::correct`: the judge runs it, its own self-test is not run.
  both,      ///< Its self-test and then the judge.
};

/// The one place that decides whether a verdict wins.
bool is_accepted(const verdict& x, accept_rule rule);

/// Right as far as a weak oracle can tell: it ends its race, and does not win it.
bool is_unproven(const verdict& x, accept_rule rule);

/// What the words beside a winner must be: "claimed, not verified", "verified", or "verified by a weak oracle".
std::string_view standing_of(accept_rule rule, bool is_weak);

/// How far from the truth is still right, for one type of element (docs/judge.md, "What is right").
struct tolerance_choice {
  std::string dtype;  ///< torch's name: `float32`.
  double atol = 0;
  double rtol = 0;
  double norm = 0;    ///< Of the whole output, relative to its scale.
  bool operator==(const tolerance_choice&) const = default;
  REGATTA_FIELDS(dtype, atol, rtol, norm);
};

/// What of the judge's work a race settles for all its candidates (docs/judge.md).
struct judge_terms {
  bool is_eval = false;       ///< `--eval`: both models in eval mode; else as their constructors leave them.
  bool allow_tf32 = false;    ///< `--allow-tf32`
  bool needs_affine = false;  ///< Found by the look at the problem: on default affine values idleness passes, too.
  bool is_weak = false;       ///< Likewise: idleness passes on all.
  std::vector<std::string> policy_off;  ///< `--policy-off`: names of rules that are not applied.
  std::uint32_t trials = 4;   ///< `--trials`: questions put to each candidate.
  std::vector<tolerance_choice> tolerances;  ///< Only what differs from the judge's own.
  /// Compiled for without such a device, as `sm_90`; empty: not at all.
  std::vector<std::string> architectures;
  bool wants_timing = false;  ///< `--timing`: the winner is timed.
  bool allow_weak = false;    ///< `--allow-weak`: right by a weak oracle wins, marked; else it is `unproven`.
  /// Names of stricter rules without which the look at the problem found idleness to pass.
  std::vector<std::string> tightened;
  /// Inputs, outputs and parameters of one question, as the look at the problem found them. Bytes; 0: not known.
  std::uint64_t question_bytes = 0;
  REGATTA_FIELDS(is_eval, allow_tf32, needs_affine, is_weak, policy_off, trials, tolerances, architectures,
                 wants_timing, allow_weak, tightened, question_bytes);
};

/// Whether the judge has a part in it.
constexpr bool needs_judge(accept_rule rule) { return rule != accept_rule::claimed; }

}  // namespace regatta

REGATTA_ENUM_NAMES(regatta::outcome, 8, {regatta::outcome::exited, "exited"},
                   {regatta::outcome::exited_nonzero, "exited_nonzero"},
                   {regatta::outcome::killed_by_signal, "killed_by_signal"},
                   {regatta::outcome::timed_out, "timed_out"}, {regatta::outcome::out_of_memory, "out_of_memory"},
                   {regatta::outcome::output_too_large, "output_too_large"},
                   {regatta::outcome::cancelled, "cancelled"},
                   {regatta::outcome::sandbox_failed, "sandbox_failed"});
REGATTA_ENUM_NAMES(regatta::claim, 3, {regatta::claim::none, "none"}, {regatta::claim::run_tests, "run_tests"},
                   {regatta::claim::sentinel, "sentinel"});
REGATTA_ENUM_NAMES(regatta::judgement, 12, {regatta::judgement::not_judged, "not_judged"},
                   {regatta::judgement::correct, "correct"}, {regatta::judgement::mismatch, "mismatch"},
                   {regatta::judgement::compile_failed, "compile_failed"}, {regatta::judgement::raised, "raised"},
                   {regatta::judgement::contract_violation, "contract_violation"},
                   {regatta::judgement::policy_violation, "policy_violation"},
                   {regatta::judgement::device_fault, "device_fault"},
                   {regatta::judgement::problem_failed, "problem_failed"},
                   {regatta::judgement::not_judgeable, "not_judgeable"},
                   {regatta::judgement::weak_oracle, "weak_oracle"}, {regatta::judgement::too_large, "too_large"});
REGATTA_ENUM_NAMES(regatta::accept_rule, 3, {regatta::accept_rule::claimed, "claimed"},
                   {regatta::accept_rule::verified, "verified"}, {regatta::accept_rule::both, "both"});
