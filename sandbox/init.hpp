// SPDX-License-Identifier: Apache-2.0
/// \file
/// pid 1 of a run: builds the root, starts the candidate, reaps, reports, and takes the whole tree with it when it
/// ends, as the kernel kills a pid namespace with its first process. Without a pid namespace (host_tree.hpp) it is a
/// subreaper that hunts the tree down instead.
#pragma once

#include "sandbox/launch_plan.hpp"
#include "sandbox/unique_fd.hpp"

#include <linux/filter.h>
#include <sys/types.h>

#include <vector>

namespace regatta::sandbox {

class warm_parent;

struct init_ends {
  unique_fd plan;
  unique_fd runner;  ///< The run's socket.
  unique_fd in, out, err;
  std::vector<unique_fd> procs_files;  ///< cgroup.procs to write ourselves into.
  /// The forker's, asked before the clone: in a new user namespace without a map both read as nobody.
  uid_t outer_uid = 0;
  gid_t outer_gid = 0;
  int forker_alive = -1;  ///< Hangs up when the forker is dead.
};

/// `warm`: the candidate is forked ready; null: it is exec'd.
[[noreturn]] void run_init(init_ends ends, const std::vector<sock_filter>& filter, warm_parent* warm);

}  // namespace regatta::sandbox
