// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_codes.hpp"

namespace regatta::cli {

exit_code exit_code_of(const race_closed& closed, bool is_budget_spent) {
  const bool is_lost = !closed.commit_failure.empty();
  switch (closed.ended.end) {
    case race_end::won:
      return is_lost || closed.artifact_path.empty() ? exit_code::packaging_failed : exit_code::won;
    case race_end::no_passing_solution:
    case race_end::deadline:
      return exit_code::no_passing_solution;
    case race_end::cancelled:
      return exit_code::cancelled;
    case race_end::llm_failed:
      return is_budget_spent ? exit_code::budget_spent : exit_code::llm_failed;
    case race_end::sandbox_failed:
    case race_end::problem_failed:
      return exit_code::failed;
    case race_end::weak_oracle:
      return exit_code::weak_oracle;
    case race_end::internal:
      break;
  }
  return exit_code::internal;
}

exit_code exit_code_of(const caf::error& error) {
  switch (code_of(error)) {
    case ec::invalid_config:
    case ec::unknown_provider:
      return exit_code::usage;
    case ec::sandbox_refused:
      return exit_code::sandbox_refused;
    case ec::weak_oracle:
      return exit_code::weak_oracle;
    case ec::internal:
    case ec::reply_timeout:  // Of an actor in this very process: it hangs.
      return exit_code::internal;
    default:
      return exit_code::failed;
  }
}

std::string exit_code_help() {
  return "Exit codes: 0 won · 1 failed · 2 wrong usage · 3 no model could be asked · 4 no passing solution or deadline "
         "·\n"
         "5 cancelled · 6 won, but the result could not be written · 7 sandbox level refused · 8 budget spent ·\n"
         "9 internal error · 10 weak oracle: nobody can be proven right, as doing nothing passes, too";
}

}  // namespace regatta::cli
