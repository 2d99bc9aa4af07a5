// SPDX-License-Identifier: Apache-2.0
/// \file
/// `regatta-sandbox run` and `probe`: one candidate by hand.
#pragma once

#include "sandbox/run_spec.hpp"
#include "sandbox/runner.hpp"

#include <string>
#include <vector>

namespace regatta::sandbox {

struct run_command {
  std::string file;               ///< Candidate to run with Python; else:
  std::vector<std::string> argv;  ///< any program.
  std::string python;
  std::vector<std::string> python_path;
  std::vector<std::string> readable;
  std::vector<std::string> keep;
  std::string keep_to = ".";
  std::vector<std::string> devices;
  std::vector<std::string> variables;  ///< "KEY=value"
  run_limits limits;
  runner_config config;
  std::vector<std::string> preload;  ///< Start warm, with these modules; empty: as any other program.
  bool is_json = false;
};

/// Exit status: 0 if the run's outcome is `exited`, whatever it claimed; 1 for every other outcome of the candidate;
/// 2 for a request that makes no sense; 7 if the level is refused; 9 if the sandbox failed. SIGINT and SIGTERM cancel.
int run_by_hand(const run_command& command);

/// Exit status 0.
int print_probe(bool is_json);

/// With quotes; control characters and bytes that are not UTF-8 escaped.
std::string json_string(std::string_view text);
/// For a terminal: control characters but newline and tab become `?`.
std::string printable(std::string_view text);

}  // namespace regatta::sandbox
