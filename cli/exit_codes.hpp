// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the program ends, as numbers: KernelAgent's 0-6, then our own. The one table; `--help` prints it.
#pragma once

#include "messages/error.hpp"
#include "messages/race_control.hpp"

#include <string>

namespace regatta::cli {

enum class exit_code : int {
  won = 0,
  failed = 1,               ///< Anything that has no number of its own.
  usage = 2,                ///< Wrong flag, configuration or problem file.
  llm_failed = 3,           ///< No model could be asked any more.
  no_passing_solution = 4,  ///< All rounds spent, or the deadline passed.
  cancelled = 5,            ///< By a signal or `regatta cancel`.
  packaging_failed = 6,     ///< There is a winner, but its result could not be written.
  sandbox_refused = 7,      ///< The host offers less isolation than required.
  budget_spent = 8,
  internal = 9,      ///< A bug of ours.
  weak_oracle = 10,  ///< Idleness passes for an answer to the problem: nobody can be proven right.
};

/// `is_budget_spent`: the calls to models ended as `budget_exhausted`.
exit_code exit_code_of(const race_closed& closed, bool is_budget_spent);

/// For an operation that failed before or beside a race.
exit_code exit_code_of(const caf::error& error);

/// The table as text, for `--help`.
std::string exit_code_help();

}  // namespace regatta::cli
