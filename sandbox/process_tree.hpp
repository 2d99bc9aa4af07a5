// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looking at, and ending, the processes of one run from its pid 1.
#pragma once

#include <cstdint>

namespace regatta::sandbox {

/// Bytes that the processes of our pid namespace hold for themselves (resident without shared pages), and the largest
/// that one of them has in memory that can be shared: who shares it with whom would take far longer to find. Ourselves not
/// counted. Needs a procfs of this namespace at /proc. `limit`: so that only what matters is looked at closely.
std::uint64_t tree_memory(std::uint64_t limit);

/// Processes of our pid namespace besides us. Threads do not count.
std::uint32_t count_others_in_namespace();

/// Without a pid namespace: what our descendants hold for themselves, as above.
struct tree_use {
  std::uint64_t memory = 0;
  std::uint32_t processes = 0;  ///< Alive.
  std::uint32_t tasks = 0;      ///< Processes and threads, those that wait to be reaped included.
};
tree_use use_of_descendants(std::uint64_t limit);

/// Without a pid namespace: kills all descendants of this subreaper and reaps them, until there is none.
void hunt_descendants();

}  // namespace regatta::sandbox
