// SPDX-License-Identifier: Apache-2.0
#include "sandbox/confinement.hpp"

#include <sched.h>

#include <algorithm>

namespace regatta::sandbox {

level attainable(const host_facts& facts, level at_most) {
  const auto found = std::min(facts.best, at_most);
  if (found >= level::namespaced) {
    return found;
  }
  if (found == level::slot_uid && facts.can_use_slot_uid) {
    return level::slot_uid;
  }
  return found >= level::confined && facts.can_confine ? level::confined : level::none;
}

confinement confinement_for(level wanted, const host_facts& facts) {
  confinement walls;
  walls.level = wanted;
  walls.namespaces = wanted >= level::namespaced;
  const bool as_root = facts.is_root && facts.can_mount && facts.can_setuid;
  walls.user_namespace = walls.namespaces && !as_root;
  walls.host_view = wanted == level::slot_uid || wanted == level::confined;
  walls.slot_uid = (walls.namespaces && as_root) || wanted == level::slot_uid;
  walls.landlock_abi = wanted == level::none ? 0 : facts.landlock_abi;
  walls.seccomp = wanted != level::none;
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
