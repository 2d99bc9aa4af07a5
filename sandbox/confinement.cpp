// SPDX-License-Identifier: Apache-2.0
#include "sandbox/confinement.hpp"

#include <sched.h>

#include <algorithm>

namespace regatta::sandbox {

level attainable(const host_facts& facts, level at_most) {
  const auto found = std::min(facts.best, at_most);
  // No launcher for slot_uid and confined: what is asked for between none and namespaced is none.
  return found < level::namespaced ? level::none : found;
}

confinement confinement_for(level wanted, const host_facts& facts) {
  confinement walls;
  walls.level = wanted;
  walls.namespaces = wanted >= level::namespaced;
  const bool as_root = facts.is_root && facts.can_mount && facts.can_setuid;
  walls.user_namespace = walls.namespaces && !as_root;
  walls.slot_uid = walls.namespaces && as_root;
  walls.landlock = walls.namespaces && facts.landlock_abi > 0;
  walls.seccomp = walls.namespaces;
  walls.memory_group = wanted >= level::full;
  walls.pids_group = wanted >= level::full && facts.cgroup_pids;
  return walls;
}

std::uint64_t namespace_flags(const confinement& walls) {
  std::uint64_t flags = 0;
  if (walls.namespaces) {
    flags |= CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  }
  if (walls.user_namespace) {
    flags |= CLONE_NEWUSER;
  }
  return flags;
}

}  // namespace regatta::sandbox
