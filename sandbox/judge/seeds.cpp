// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/seeds.hpp"

#include <sys/random.h>

#include <stdexcept>

namespace regatta::judge {

std::uint64_t draw_seed() {
  std::uint64_t bits = 0;
  // Up to 256 bytes come whole and uninterrupted (random(4)).
  if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    throw std::runtime_error{"getrandom failed"};
  }
  return (bits >> 11) | 1U;
}

}  // namespace regatta::judge
