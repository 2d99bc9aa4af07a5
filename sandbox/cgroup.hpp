// SPDX-License-Identifier: Apache-2.0
/// \file
/// One cgroup per run, where the host lets us make one: v2 (memory and pids if delegated, else for cgroup.kill and the
/// CPU clock only) and, where the controllers still sit in v1 hierarchies, one leaf in each of memory, pids and cpu.
/// The cpu controller limits nothing: all candidates together weigh as much as one program of normal priority, and among
/// them each run weighs the same, however many processes it has or leaves to be reaped (ADR 7).
///
///   <our own cgroup>/regatta-<pid>-<start time>-<n>/run-<id>
///
/// The runner removes them; if it is killed, the forker does; if both are, the next runner on this host.
#pragma once

#include "messages/limits.hpp"
#include "sandbox/cgroup_delegation.hpp"
#include "sandbox/probe.hpp"
#include "sandbox/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace regatta::sandbox {

/// Our own place in each hierarchy that matters; empty where there is none.
struct cgroup_places {
  std::string v2;
  std::string v1_memory;
  std::string v1_pids;
  std::string v1_cpu;
};
cgroup_places find_cgroup_places();

struct cgroup_leaf {
  std::string v2;
  std::vector<std::string> v1;
  unique_fd v2_folder;                 ///< For CLONE_INTO_CGROUP.
  unique_fd kill;                      ///< cgroup.kill
  std::vector<unique_fd> procs_files;  ///< v1: pid 1 writes itself in.
};

struct cgroup_usage {
  bool has_killed = false;  ///< The kernel's OOM killer was here.
  byte_count peak = 0;
  std::chrono::microseconds cpu{};  ///< 0 if not known.
};

class cgroup_tree {
public:
  /// Makes our group. `wants_limits`: memory (and pids) must be limited, else the group is for killing and counting
  /// only and its absence is no error. Null with `error` filled if the limits cannot be had.
  static std::unique_ptr<cgroup_tree> open(bool wants_limits, std::string& error);
  ~cgroup_tree();
  cgroup_tree(const cgroup_tree&) = delete;
  cgroup_tree& operator=(const cgroup_tree&) = delete;

  /// False and errno set if a limit could not be written.
  bool make_leaf(std::uint64_t run, const run_limits& limits, cgroup_leaf& leaf) const;
  static cgroup_usage usage(const cgroup_leaf& leaf);
  /// The tree is gone. Removal is tried again by `sweep` while the kernel says EBUSY, as it does for some ms.
  void retire(cgroup_leaf leaf);
  /// True if something is left to remove.
  bool sweep();

  /// For the forker's command line: what it removes and gives back, should we be killed.
  std::vector<std::string> duties() const;

private:
  cgroup_tree() = default;
  bool make_groups(const cgroup_places& places, bool wants_limits, std::string& error);

  std::vector<std::string> groups() const;

  std::shared_ptr<cgroup_delegation> delegation_;
  bool limits_ = false;
  std::string v2_;
  std::string v1_memory_;
  std::string v1_pids_;
  std::string v1_cpu_;
  std::vector<std::string> retired_;
};

/// With all leaves in it. Waits up to 0.2 s for the kernel's EBUSY to pass.
void remove_group(const std::string& group);

}  // namespace regatta::sandbox
