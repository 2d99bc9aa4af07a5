// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs a trusted program outside any sandbox and takes its stdout. Blocks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace regatta::sandbox {

struct child_output {
  bool has_run = false;  ///< Started and ended within the time.
  int exit_code = -1;
  std::string out;      ///< At most 4 MiB.
  std::string problem;  ///< If not `has_run`.
};

/// With this environment only; stdin and stderr are /dev/null. Its process group is killed at the time limit.
child_output run_program(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                         std::chrono::milliseconds limit);

}  // namespace regatta::sandbox
