// SPDX-License-Identifier: Apache-2.0
/// \file
/// What goes between runner, forker and pid 1 of a run.
///
///   runner ──launch_request + descriptors──► forker          runner ◄──launch_reply + pidfd── forker
///   runner ◄──init_record (job folder's fd)── pid 1          runner ──go── ► pid 1, over the run's own socket
///
/// The plan itself lies in a memory file that only pid 1 parses: the forker stays as small as it can be.
#pragma once

#include "sandbox/confinement.hpp"
#include "sandbox/run_spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::sandbox {

struct launch_plan {
  confinement walls;
  std::uint32_t uid = 0;  ///< Of the candidate; 0: ours.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "KEY=value"
  std::vector<input_file> files;
  std::vector<read_only_path> readable;
  std::vector<std::string> devices;
  run_limits limits;
  bool has_loopback = false;
  /// The seccomp program, as bytes; empty: the one that the forker has, for runs with namespaces.
  std::string filter;
  bool waits = false;  ///< `run_spec::waits`
};
std::string encode(const launch_plan& plan);
/// Empty if the bytes are not a whole plan.
std::optional<launch_plan> decode_plan(std::string_view bytes);

/// runner → forker. Descriptors in this order: plan, run's socket, stdin, stdout, stderr, then as flagged: the v2
/// cgroup's folder, and `procs_files` files named cgroup.procs that pid 1 writes itself into.
struct launch_request {
  std::uint64_t run = 0;
  std::uint64_t clone_flags = 0;
  std::uint32_t has_cgroup = 0;
  std::uint32_t procs_files = 0;
  /// No run, no descriptors: answer for `run` once nothing of it is left, as its first process was killed and, without
  /// a pid namespace, took nobody with it.
  std::uint32_t is_question = 0;
  std::uint32_t padding = 0;
};
inline constexpr std::size_t fixed_descriptors = 5;

/// forker → runner. With the pidfd if `error` is 0. The first one of a forker has run 0 and `wire_version` in
/// `error`, or `unfit_to_fork` and after it a text that says why there will be no second.
struct launch_reply {
  std::uint64_t run = 0;
  std::int32_t error = 0;
  std::int32_t padding = 0;
};
/// No errno: the forker is in no state to fork this or any other run.
inline constexpr std::int32_t unfit_to_fork = -1;
/// No errno: the answer to a question.
inline constexpr std::int32_t nothing_left = -2;
inline constexpr std::size_t longest_refusal = 400;

/// pid 1 → runner.
struct init_record {
  enum class kind : std::uint32_t {
    job_folder,       ///< With the folder's descriptor.
    started,          ///< The candidate was exec'd.
    failed,           ///< Set-up: `step` and `code` = errno. Nothing of the candidate ran.
    ended,            ///< The main process ended: `code` = wait status.
    memory_exceeded,  ///< The sampled sum passed the limit; pid 1 ends the run.
    overdue,          ///< Past the wall limit and the runner did not end the run: pid 1 does.
    stopped,          ///< Without a pid namespace: the tree was hunted down; sent after any of the others.
    pids_exceeded,    ///< More processes and threads were counted than allowed; pid 1 ends the run.
    disk_exceeded,    ///< The run's folder was found larger than allowed; likewise.
  };
  kind what = kind::failed;
  std::int32_t code = 0;
  std::int64_t at_ns = 0;  ///< CLOCK_MONOTONIC
  std::uint64_t cpu_us = 0;
  std::uint64_t peak_bytes = 0;
  std::uint32_t left_behind = 0;
  char step[180] = {};
};
void set_step(init_record& record, std::string_view step);
std::int64_t monotonic_ns();

/// runner → pid 1: start the candidate. End of file instead: the runner is dead, so die.
inline constexpr char go_byte = 'g';

/// runner → pid 1 of a process that waited: a run has come, and its wall limit begins now.
inline constexpr char wall_order_byte = 'w';
struct wall_order {
  char what = wall_order_byte;
  char padding[7] = {};
  std::int64_t wall_ms = 0;
};

/// How much longer than the wall limit pid 1 waits before it ends the run by itself. Long enough that a live but
/// busy runner always comes first, as only it can say `timed_out` with all that belongs to it.
inline constexpr std::chrono::seconds backstop_grace{5};

}  // namespace regatta::sandbox
