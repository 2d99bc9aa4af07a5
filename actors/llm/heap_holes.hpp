// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prompts of a ramp-up all stand in memory before the first is answered, and the allocator keeps their holes between what
/// lives on. Here they go back to the system.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstddef>

namespace regatta {

/// Call after freeing `size` bytes of what had many neighbours. From any thread. Looking for holes takes about a
/// millisecond, so it is done once for every 2 MB freed. Judgement.
inline void trim_holes_after(std::size_t size) {
  constexpr std::size_t worth_it = 2'000'000;
  static std::atomic<std::size_t> freed{0};
  if (freed.fetch_add(size) + size >= worth_it) {
    freed = 0;
    ::malloc_trim(0);
  }
}

}  // namespace regatta
