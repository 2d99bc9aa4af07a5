// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a session of the comparator can end: judgements by the names of messages/, and three that say which side ended or
/// was silent; why is the sandbox's to say.
#pragma once

#include "messages/enums.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace regatta::judge {

enum class ending : std::uint8_t {
  correct,
  mismatch,
  raised,
  compile_failed,
  contract_violation,
  problem_failed,
  not_judgeable,
  weak_oracle,
  too_large,
  candidate_gone,
  reference_gone,
  timed_out,
  policy_violation,
};

enum class side : std::uint8_t { reference, candidate };

/// Thrown to end a session: everything that is not a plain "right" or "wrong".
struct session_end {
  ending judgement = ending::problem_failed;
  std::string reason;  ///< One line.
  std::string detail;  ///< For the model, e.g. a traceback.
  /// The side said so itself, in a good frame: its stream can still be used.
  bool is_in_step = false;
};

/// Thrown where bytes of a side are no frame, tree or answer. What it means depends on the side.
struct malformed {
  std::string what;
};

/// What a malformed frame or answer of that side is called.
constexpr ending blame_of(side x) {
  return x == side::reference ? ending::problem_failed : ending::contract_violation;
}

/// Text of a side as a record and a model may see it: no control characters but line breaks and tabs, at most `most`
/// bytes, cut between characters; a long text keeps its end, where tracebacks say what happened.
std::string plain_text(std::string_view text, std::size_t most);
/// The same on one line.
std::string plain_line(std::string_view text, std::size_t most);

}  // namespace regatta::judge

REGATTA_ENUM_NAMES(regatta::judge::ending, 13, {regatta::judge::ending::correct, "correct"},
                   {regatta::judge::ending::mismatch, "mismatch"}, {regatta::judge::ending::raised, "raised"},
                   {regatta::judge::ending::compile_failed, "compile_failed"},
                   {regatta::judge::ending::contract_violation, "contract_violation"},
                   {regatta::judge::ending::problem_failed, "problem_failed"},
                   {regatta::judge::ending::not_judgeable, "not_judgeable"},
                   {regatta::judge::ending::weak_oracle, "weak_oracle"},
                   {regatta::judge::ending::too_large, "too_large"},
                   {regatta::judge::ending::candidate_gone, "candidate_gone"},
                   {regatta::judge::ending::reference_gone, "reference_gone"},
                   {regatta::judge::ending::timed_out, "timed_out"},
                   {regatta::judge::ending::policy_violation, "policy_violation"});
REGATTA_ENUM_NAMES(regatta::judge::side, 2, {regatta::judge::side::reference, "reference"},
                   {regatta::judge::side::candidate, "candidate"});
