// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who writes: enough to tell later whether the process that owns a race still lives.
#pragma once

#include <cstdint>
#include <string>

namespace regatta {

struct store_owner {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< Field 22 of /proc/PID/stat: clock ticks from boot to the process' start.
  std::string boot_id;
  std::string host;
};

store_owner this_process();

/// False if it is certain that `owner` is gone. True if it lives or lies on another host, where nothing can be seen.
bool may_be_alive(const store_owner& owner);

}  // namespace regatta
