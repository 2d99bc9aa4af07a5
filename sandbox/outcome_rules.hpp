// SPDX-License-Identifier: Apache-2.0
/// \file
/// From what was seen of a run to how it ended. Pure.
#pragma once

#include "messages/limits.hpp"
#include "messages/outcome.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace regatta::sandbox {

/// Why we gave the order to kill.
enum class kill_reason { cancelled, wall_limit, output_limit, launch_limit, shut_down };

struct end_facts {
  std::optional<std::string> setup_failure;  ///< "mount proc: Operation not permitted"
  std::optional<int> wait_status;            ///< Of the main process, if pid 1 lived to report it.
  std::optional<kill_reason> killed;         ///< The first order.
  bool has_started = false;                  ///< The candidate was exec'd.
  bool is_overdue = false;                   ///< pid 1's own deadline.
  bool memory_exceeded = false;              ///< pid 1's sampled sum.
  bool pids_exceeded = false;                ///< … its count of processes and threads.
  bool disk_exceeded = false;                ///< … its look at the run's folder.
  bool oom_killed = false;                   ///< The cgroup's counter.
  bool is_data_limited = false;              ///< RLIMIT_DATA is in force.
  bool says_memory_error = false;            ///< stderr ends in Python's MemoryError.
  std::chrono::microseconds cpu_time{};
  byte_count output = 0;
};

struct end_verdict {
  regatta::outcome outcome = regatta::outcome::sandbox_failed;
  int exit_code = -1;
  int signal = 0;
  std::string reason;
};

end_verdict judge_end(const end_facts& facts, const run_limits& limits);

/// "90 s", "1.5 s", "250 ms".
std::string in_words(std::chrono::milliseconds time);
/// "512 MiB", "1000 bytes".
std::string bytes_in_words(byte_count size);

}  // namespace regatta::sandbox
