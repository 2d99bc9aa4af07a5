// SPDX-License-Identifier: Apache-2.0
#include "sandbox/outcome_rules.hpp"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

namespace regatta::sandbox {

namespace {

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string{"SIG"} + name : "signal " + std::to_string(signal);
}

end_verdict killed_by_us(kill_reason why, const run_limits& limits) {
  switch (why) {
    case kill_reason::cancelled:
      return {outcome::cancelled, -1, SIGKILL, "cancelled"};
    case kill_reason::shut_down:
      return {outcome::cancelled, -1, SIGKILL, "cancelled: the sandbox was shut down"};
    case kill_reason::wall_limit:
      return {outcome::timed_out, -1, SIGKILL, "timed out after " + in_words(limits.wall)};
    case kill_reason::output_limit:
      return {outcome::output_too_large, -1, SIGKILL, "wrote more than " + bytes_in_words(limits.output)};
    case kill_reason::launch_limit:
      return {outcome::sandbox_failed, -1, 0, "setup: not finished in time"};
  }
  return {};
}

end_verdict out_of_memory(int signal, const char* seen, const run_limits& limits) {
  return {outcome::out_of_memory, -1, signal, std::string{"out of memory: "} + seen + bytes_in_words(limits.memory)};
}

bool is_cpu_limit(int signal, const end_facts& facts, const run_limits& limits) {
  // SIGXCPU may be ignored; a second later the kernel sends SIGKILL.
  return limits.cpu.count() > 0 && (signal == SIGXCPU || (signal == SIGKILL && facts.cpu_time >= limits.cpu));
}

end_verdict ended_by_itself(int status, const end_facts& facts, const run_limits& limits) {
  if (WIFEXITED(status)) {
    const int code = WEXITSTATUS(status);
    if (code == 0) {
      return {outcome::exited, 0, 0, "exit status 0"};
    }
    if (facts.oom_killed) {
      auto verdict = out_of_memory(0, "a process of the run was killed at ", limits);
      verdict.exit_code = code;
      return verdict;
    }
    auto reason = "exit status " + std::to_string(code);
    if (facts.is_data_limited && facts.says_memory_error) {
      reason += " (MemoryError under a data limit of " + bytes_in_words(limits.data) + " for each process)";
    }
    return {outcome::exited_nonzero, code, 0, reason};
  }
  const int signal = WTERMSIG(status);
  if (facts.oom_killed) {
    return out_of_memory(signal, "killed at ", limits);
  }
  if (is_cpu_limit(signal, facts, limits)) {
    return {outcome::timed_out, -1, signal, "used more than " + in_words(limits.cpu) + " of CPU time"};
  }
  return {outcome::killed_by_signal, -1, signal, "killed by " + signal_name(signal)};
}

}  // namespace

end_verdict judge_end(const end_facts& facts, const run_limits& limits) {
  if (facts.setup_failure) {
    // A run that was stopped while it was being set up is stopped, not failed.
    const bool is_stopped =
        facts.killed && (*facts.killed == kill_reason::cancelled || *facts.killed == kill_reason::shut_down);
    return is_stopped ? killed_by_us(*facts.killed, limits)
                      : end_verdict{outcome::sandbox_failed, -1, 0, "setup: " + *facts.setup_failure};
  }
  if (limits.output > 0 && facts.output > limits.output) {
    return killed_by_us(kill_reason::output_limit, limits);
  }
  if (facts.memory_exceeded) {
    return out_of_memory(SIGKILL, "the processes together held more than ", limits);
  }
  if (facts.pids_exceeded) {
    return {outcome::killed_by_signal, -1, SIGKILL,
            "killed: more than " + std::to_string(limits.pids) + " processes and threads"};
  }
  if (facts.disk_exceeded) {
    return {outcome::output_too_large, -1, SIGKILL,
            "more than " + bytes_in_words(limits.disk) + " in its folder, or too many files or folders"};
  }
  if (facts.is_overdue) {
    return killed_by_us(kill_reason::wall_limit, limits);
  }
  // Main's own end counts even if our order came a moment later; a death by SIGKILL after it is ours.
  const bool is_ours = facts.wait_status && facts.killed && WIFSIGNALED(*facts.wait_status) &&
                       WTERMSIG(*facts.wait_status) == SIGKILL;
  if (facts.wait_status && !is_ours) {
    return ended_by_itself(*facts.wait_status, facts, limits);
  }
  if (facts.killed) {
    auto verdict = killed_by_us(*facts.killed, limits);
    // cgroup v1 kills one process and lets the rest wait for it.
    verdict.reason += facts.oom_killed ? " (before that, a process was killed at the memory limit)" : "";
    return verdict;
  }
  if (facts.oom_killed) {
    return out_of_memory(SIGKILL, "killed at ", limits);
  }
  return {outcome::sandbox_failed, -1, 0,
          facts.has_started ? "the run's pid 1 or its forker was killed from outside"
                            : "setup: the forker or pid 1 died before the start"};
}

std::string in_words(std::chrono::milliseconds time) {
  constexpr int ms_per_second = 1000;
  const auto count = time.count();
  if (count < ms_per_second) {
    return std::to_string(count) + " ms";
  }
  auto text = std::to_string(count / ms_per_second);
  if (const auto tenths = count % ms_per_second / 100; tenths != 0) {
    text += "." + std::to_string(tenths);
  }
  return text + " s";
}

std::string bytes_in_words(byte_count size) {
  if (size >= MiB && size % MiB == 0) {
    return std::to_string(size / MiB) + " MiB";
  }
  return size >= KiB && size % KiB == 0 ? std::to_string(size / KiB) + " KiB" : std::to_string(size) + " bytes";
}

}  // namespace regatta::sandbox
