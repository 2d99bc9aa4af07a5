// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a race ended, in words for people. Files and events keep their own.
#pragma once

#include <string>

namespace regatta::cli {

/// `end` and `reason` as in summary.json. A budget of the user's that is spent is no failure of a model.
inline std::string end_words(const std::string& end, const std::string& reason) {
  return end == "llm_failed" && reason.find("budget_exhausted") != std::string::npos ? "budget spent"
         : end == "weak_oracle" ? "unproven"
                                : end;
}

/// Empty where it says no more than `end`.
inline std::string end_note(const std::string& end, const std::string& reason) {
  return reason == end ? "" : reason;
}

}  // namespace regatta::cli
