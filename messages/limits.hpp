// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every number that bounds something, once, with its unit and its reason. docs/architecture.md, "Budgets", shows
/// how the times nest.
#pragma once

#include "messages/fields.hpp"

#include <chrono>
#include <cstdint>

namespace regatta {

using byte_count = std::uint64_t;
inline constexpr byte_count KiB = 1024;
inline constexpr byte_count MiB = 1024 * KiB;
inline constexpr byte_count GiB = 1024 * MiB;

/// What one evaluation may use. Zero means "no limit" only where said.
struct run_limits {
  /// Wall clock, not CPU: a candidate asleep on a lock burns no CPU and would hold the slot for ever.
  /// 180 s: KernelAgent's `run_timeout_s`.
  std::chrono::milliseconds wall{180'000};
  /// CPU time of any one process of the run. Twice the wall limit times the threads that torch may use would be no
  /// limit at all; 600 s stops a spinning child of a candidate that sleeps. Judgement.
  std::chrono::seconds cpu{600};
  /// Memory of the whole tree (cgroup), files in the run's tmpfs included. 8 GiB: torch with CUDA keeps below 1 GiB
  /// (reference measurement on an H200), KernelBench's larger inputs are given by the problem. Judgement.
  byte_count memory = 8 * GiB;
  /// RLIMIT_DATA of each process: the only memory limit where no cgroup can be written. Never RLIMIT_AS: CUDA
  /// reserves more than 17 GiB of addresses.
  byte_count data = 8 * GiB;
  /// Size of each of the run's tmpfs (/run/job, /tmp, /dev/shm).
  byte_count disk = 256 * MiB;
  /// RLIMIT_FSIZE: one file. Same as `disk`, for levels without a tmpfs of their own.
  byte_count file = 256 * MiB;
  /// Processes and threads of the run, pid 1 not counted. torch starts 15 threads by default on 16 cores.
  std::uint32_t pids = 256;
  /// RLIMIT_NOFILE.
  std::uint32_t open_files = 1024;
  /// stdout + stderr together past which the tree is killed as `output_too_large`. Below it, output is counted and
  /// scanned whole but kept only in part. 256 MiB is a few seconds of `yes`. Judgement.
  byte_count output = 256 * MiB;
  REGATTA_FIELDS(wall, cpu, memory, data, disk, file, pids, open_files, output);
};

/// The first bytes of each stream that are kept …
inline constexpr byte_count kept_output_head = 64 * KiB;
/// … and the last; what lies between is replaced by a line that says how much.
inline constexpr byte_count kept_output_tail = 1 * MiB;
/// What a repair prompt shows of each stream: KernelAgent's 20,000 bytes.
inline constexpr byte_count feedback_output_tail = 20'000;
/// Artifacts copied out of a run: each file …
inline constexpr byte_count artifact_file_bytes = 16 * MiB;
/// … and how many.
inline constexpr std::uint32_t artifact_files = 64;
/// A candidate's source. The largest KernelBench problem has 23 KiB; LLM outputs end near 128k tokens.
inline constexpr byte_count candidate_bytes = 1 * MiB;
/// A problem file.
inline constexpr byte_count problem_bytes = 1 * MiB;
/// One LLM reply as text; more is cut and named `malformed`. 128k tokens are about 0.5 MiB.
inline constexpr byte_count reply_bytes = 4 * MiB;

inline constexpr std::uint32_t max_workers = 10'000;
inline constexpr std::uint32_t max_rounds = 1'000;
/// LLM calls for one round: an `empty` or failed reply asks again without using the round up, but not for ever.
inline constexpr std::uint32_t attempts_per_round = 3;
/// Runs of one candidate that end `sandbox_failed` before its worker gives up.
inline constexpr std::uint32_t sandbox_attempts = 3;
/// Evaluators that one node agent makes before it gives up and its workers end `sandbox_failed`.
inline constexpr std::uint32_t evaluator_starts = 3;
/// Starts of one worker by its race (crash of the actor, later: loss of its node).
inline constexpr std::uint32_t worker_starts = 3;

/// How long whoever holds a piece of work may be silent before the asker believes it dead. Holders beat every
/// `progress_interval`; nothing here bounds time in a queue, under a rate limit or with a person.
inline constexpr std::chrono::seconds silence_limit{15};
/// A holder's sign of life. `silence_limit` is more than seven of them.
inline constexpr std::chrono::seconds progress_interval{2};
/// `prompt`, `run`, `reserve`, `spawn_worker`: the answer "accepted" or "refused" must come within this.
inline constexpr std::chrono::seconds accept_timeout{5};
/// One `check_source`, time behind other workers' questions included. Six of the checker's own time-outs. Judgement.
inline constexpr std::chrono::seconds check_timeout{60};
/// `commit`: the last batch is on disk and `result.tar.gz` is packed (up to 1 GiB of artifacts). Judgement.
inline constexpr std::chrono::seconds commit_timeout{60};
/// `open_call`, `close_call`: a batch with fsync, behind other batches. Asked again after it. Judgement.
inline constexpr std::chrono::seconds ledger_timeout{30};
/// From `cancel` until every tree of the race is reaped. Measured: 0.2 s for a torch child or a CUDA context. After
/// it the race ends and says what is not confirmed.
inline constexpr std::chrono::seconds quiet_timeout{10};
/// The timing of a winner: wall limit of its run. 10 pairs of the largest KernelBench inputs (17 GB) do not fit, the usual
/// ones take seconds. Judgement.
inline constexpr std::chrono::milliseconds timing_wall{150'000};
/// … and from the race's order until its answer, time behind other races' runs on that device included. Judgement.
inline constexpr std::chrono::seconds timing_timeout{240};
/// From the first signal to a clean exit; the second signal ends the program at once.
inline constexpr std::chrono::seconds shutdown_timeout{15};

}  // namespace regatta
