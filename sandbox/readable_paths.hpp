// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which paths of the host a run may read, whichever way a level shows them: bound into its own root, or by rule.
#pragma once

#include "sandbox/host_paths.hpp"
#include "sandbox/launch_plan.hpp"

#include <set>
#include <string>
#include <vector>

namespace regatta::sandbox {

inline constexpr const char* plain_devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

struct readable_paths {
  std::set<std::string> real;    ///< Outer folders first.
  std::vector<host_link> links;  ///< That lead there.
};

/// The system's own and the plan's. Throws setup_error for one that is absent and not optional, or that is so wide
/// that it would show or hide what is the run's own.
readable_paths resolve_readable(const launch_plan& plan);

/// Throws setup_error if one of the plan's devices is not a character device below /dev.
void check_devices(const launch_plan& plan);

}  // namespace regatta::sandbox
