// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a level means: which walls are put around a run. The rest of the code asks these fields, never the level, so
/// that a level is added here and where a new kind of wall is built.
#pragma once

#include "sandbox/probe.hpp"

#include <cstdint>

namespace regatta::sandbox {

struct confinement {
  regatta::sandbox::level level = level::none;
  bool namespaces = false;      ///< Mount, pid, network, IPC and UTS; pid 1's end is the tree's end.
  bool user_namespace = false;  ///< … inside a user namespace of its own, as we are not root.
  /// No namespaces: Landlock, a stricter filter, a hunt and sweeps stand for what they would hide and end.
  bool host_view = false;
  bool slot_uid = false;  ///< A uid that no other run has.
  int landlock_abi = 0;   ///< 0: none. At most this is used.
  bool seccomp = false;
  bool memory_group = false;  ///< A cgroup bounds the tree's memory; else RLIMIT_DATA and a sampled sum do.
  bool pids_group = false;    ///< A cgroup bounds the number of processes; else RLIMIT_NPROC does.
};

/// What `at_most` becomes on this host: the next lower level that it has.
level attainable(const host_facts& facts, level at_most);

confinement confinement_for(level wanted, const host_facts& facts);

/// For clone: the CLONE_NEW* flags.
std::uint64_t namespace_flags(const confinement& walls);

}  // namespace regatta::sandbox
