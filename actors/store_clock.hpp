// SPDX-License-Identifier: Apache-2.0
/// \file
/// The wall clock, for records and heartbeats; never for limits.
#pragma once

#include <chrono>
#include <cstdint>

namespace regatta {

inline std::int64_t utc_now_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

}  // namespace regatta
