// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the host lets us do. Every answer is found by doing the thing in a throw-away child, never from a version.
#pragma once

#include "messages/enums.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace regatta::sandbox {

enum class level : std::uint8_t {
  none = 0,        ///< Environment and rlimits only: refused unless `--allow-unsandboxed`.
  confined = 1,    ///< seccomp + Landlock as any user.
  slot_uid = 2,    ///< … plus a uid of its own (root without CAP_SYS_ADMIN).
  namespaced = 3,  ///< Namespaces as root or through an unprivileged user namespace.
  full = 4,        ///< … plus a cgroup: hard total memory and process limits.
};

struct host_facts {
  bool is_root = false;
  bool can_mount = false;  ///< Root with a CAP_SYS_ADMIN that works.
  bool can_setuid = false;
  bool user_namespace = false;             ///< Unprivileged, *with* a working mount and procfs inside.
  bool apparmor_restricts_userns = false;  ///< Ubuntu 24.04's sysctl is on (explains `user_namespace == false`).
  bool clone3 = false;
  bool clone_into_cgroup = false;
  bool seccomp = false;
  int landlock_abi = 0;
  bool can_confine = false;       ///< Landlock and the filter hold what they must without any namespace.
  bool can_use_slot_uid = false;  ///< … for a uid of its own, whose files and processes we can end.
  std::string cgroup;  ///< "v2", "v1" or "none": what we can really write.
  bool cgroup_memory = false;
  bool cgroup_pids = false;
  bool cgroup_kill = false;
  std::string kernel;  ///< uname -r
  regatta::sandbox::level best = level::none;
  /// What keeps the host from the next level, one line each, with the remedy: for `regatta doctor`.
  std::vector<std::string> obstacles;
};

/// Takes some tens of ms.
host_facts probe();

}  // namespace regatta::sandbox

REGATTA_ENUM_NAMES(regatta::sandbox::level, 5, {regatta::sandbox::level::none, "L0"},
                   {regatta::sandbox::level::confined, "L1"}, {regatta::sandbox::level::slot_uid, "L2"},
                   {regatta::sandbox::level::namespaced, "L3"}, {regatta::sandbox::level::full, "L4"});
