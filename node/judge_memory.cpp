// SPDX-License-Identifier: Apache-2.0
#include "node/judge_memory.hpp"

#include <unistd.h>

#include <algorithm>

namespace regatta {

namespace {

/// A side holds a question about twice: what it was asked and what it makes of it.
constexpr byte_count copies = 2;
/// Python, torch and the frames, per side (measured: 0.4 to 0.9 GiB; a CUDA context as much on its device).
constexpr byte_count side_base = GiB;
/// The comparator, whatever is asked, and a little for everybody else.
constexpr byte_count others = 3 * GiB;
/// Less than this is no problem for anybody, and the smallest limits must still judge toys.
constexpr byte_count least = 16 * MiB;

constexpr byte_count less(byte_count from, byte_count what) {
  return from > what ? from - what : 0;
}

}  // namespace

memory_at_hand memory_of(byte_count device) {
  const auto pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return {pages > 0 && size > 0 ? static_cast<byte_count>(pages) * static_cast<byte_count>(size) : 0, device};
}

byte_count question_room(const run_limits& limits, const memory_at_hand& memory) {
  constexpr byte_count sides = 2;
  auto out = less(limits.memory, side_base) / copies;
  if (memory.host > 0) {
    out = std::min(out, less(memory.host, others + sides * side_base) / (sides * copies));
  }
  if (memory.device > 0) {
    out = std::min(out, less(memory.device, sides * side_base) / (sides * copies));
  }
  return std::max(out, least);
}

}  // namespace regatta
