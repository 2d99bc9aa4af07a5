// SPDX-License-Identifier: Apache-2.0
/// \file
/// ACCOUNT: what happened in a race, for people and as JSON. The same text at the end of `regatta race` and from
/// `regatta show`. Pure.
#pragma once

#include "actors/store_reader.hpp"

#include <cstdint>
#include <string>

namespace regatta::cli {

struct account_options {
  worker_id only_worker;         ///< Empty: all.
  std::uint32_t only_round = 0;  ///< 0: all.
  /// Runs, calls and their figures, too.
  bool has_details = false;
  std::size_t columns = 120;
};

std::string account_text(const race_record& record, const account_options& options);

/// One JSON object: {"schema_version": 1, "race": {…}, "workers": […], "rounds": […], "evaluations": […],
/// "llm_calls": […]}.
std::string account_json(const race_record& record, const account_options& options);

/// One line per race, newest first: `regatta list`.
std::string list_text(const std::vector<race_row>& races);
std::string list_json(const std::vector<race_row>& races);

}  // namespace regatta::cli
