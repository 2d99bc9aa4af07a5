// SPDX-License-Identifier: Apache-2.0
/// \file
/// FORKER: the one small process that clones pid 1 of every run. Exec'd by the runner with an empty environment and
/// no descriptors but its socket, so that what runs inherit from it is nothing; single-threaded, so that cloning is
/// safe; tiny, so that cloning is cheap (from a process with 1 GiB resident it takes 30 times as long).
#pragma once

#include <linux/filter.h>

#include <string>
#include <string_view>
#include <vector>

namespace regatta::sandbox {

class warm_parent;

/// What the runner calls `regatta-sandbox` by (argv[0]) when it wants a forker.
inline constexpr std::string_view forker_name = "regatta-forker";
/// The runner's socket.
inline constexpr int forker_channel_fd = 3;

/// Serves until the runner hangs up, then waits until all runs are gone and removes the cgroups named in `argv[1…]`;
/// a duty among them (cgroup_delegation.hpp) is done.
int forker_main(int argc, char** argv);

/// Serves until the runner hangs up, then waits until all runs are gone. `warm`: runs are forked ready; null: exec'd.
/// False if it could not begin.
bool serve_runs(std::vector<sock_filter> filter, warm_parent* warm);

}  // namespace regatta::sandbox
