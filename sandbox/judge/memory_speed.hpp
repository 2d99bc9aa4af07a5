// SPDX-License-Identifier: Apache-2.0
/// \file
/// How fast this host's CPUs can move memory: an upper bound, as it is used to tell what cannot be.
#pragma once

#include <cstdint>

namespace regatta::judge {

/// Bytes per second, read and written together: the best of some copies of so many bytes by this thread, in its caches if
/// they fit there, times the CPUs that the process may use. Takes some ms.
double measured_memory_speed(std::uint64_t bytes);

}  // namespace regatta::judge
