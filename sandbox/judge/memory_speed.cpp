// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/memory_speed.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

namespace regatta::judge {

namespace {

/// Beyond this it is main memory anyway.
constexpr std::uint64_t most_copied = std::uint64_t{64} << 20;
constexpr std::uint64_t least_copied = 4096;
/// A copy of a page is over before a clock ticks: several in a row.
constexpr std::uint64_t bytes_per_round = std::uint64_t{16} << 20;
constexpr int rounds = 8;

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
}

}  // namespace

double measured_memory_speed(std::uint64_t bytes) {
  using clock = std::chrono::steady_clock;
  const auto size = std::clamp(bytes / 2, least_copied, most_copied);
  const auto copies = std::max<std::uint64_t>(bytes_per_round / size, 1);
  std::vector<std::byte> from(size, std::byte{1});
  std::vector<std::byte> to(size);
  double best = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto start = clock::now();
    for (std::uint64_t j = 0; j < copies; ++j) {
      std::memcpy(to.data(), from.data(), size);
      // Otherwise only the last of the copies would have to happen.
      asm volatile("" : : "r"(to.data()) : "memory");
    }
    const std::chrono::duration<double> took = clock::now() - start;
    best = std::max(best, 2.0 * static_cast<double>(size * copies) / std::max(took.count(), 1e-9));
  }
  return best * usable_cpus();
}

}  // namespace regatta::judge
