// SPDX-License-Identifier: Apache-2.0
/// \file
/// RUN BOOK: the evaluator's rules. Which runs wait, which run where, which must be killed; each ends exactly once.
///
///   admit -> waiting --place--> running --finish--> gone
///              |                   |
///              +--cancel--> gone   +--cancel, expire, superseded--> to be killed, still running until `finish`
///
/// A run that is timed, or that is repeated since its neighbours on a GPU may have been to blame, has its device to itself.
#pragma once

#include "messages/error.hpp"
#include "messages/evaluation.hpp"
#include "messages/ids.hpp"
#include "node/lease_table.hpp"
#include "node/run_queue.hpp"

#include <caf/expected.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace regatta {

/// Why we killed a run.
enum class stop_cause : std::uint8_t {
  none,
  cancelled,      ///< `cancel_runs`.
  lease_expired,  ///< The sandbox let it run past its wall limit.
  superseded,     ///< The same work key came again with another candidate; this one's end interests nobody.
};

struct run_entry {
  using time_point = lease::time_point;

  run_number number = 0;
  run what;
  slot_kind kind = slot_kind::cpu;
  time_point queued_at;
  time_point started_at;      ///< Only with a lease.
  std::optional<lease> held;  ///< Empty while it waits.
  stop_cause stop = stop_cause::none;
  std::string first_end;  ///< How it ended beside others, if this is its repetition alone.
};

inline work_key key_of(const run& x) {
  return {x.race, x.worker, x.round, x.attempt};
}

struct run_book_config {
  node_id node;  ///< For error texts.
  std::uint32_t cpu_slots = 1;
  std::uint32_t gpus = 0;
  std::uint32_t slots_per_gpu = 1;
  /// A lease lasts the run's wall limit and this. The sandbox needs up to 0.2 s to start and to kill a tree
  /// (measured, torch or a CUDA context); a busy machine needs longer. Judgement: the 10.
  std::chrono::milliseconds lease_grace{10'000};
};

class run_book {
public:
  using time_point = run_entry::time_point;

  struct admission {
    bool is_new = false;                ///< False: the very same run is waiting or running already.
    std::optional<run_number> to_kill;  ///< A running run that the new one supersedes.
  };
  struct cancellation {
    std::vector<run_entry> dropped;   ///< Were waiting; gone.
    std::vector<run_number> to_kill;  ///< Were running; gone only when finished.
  };

  explicit run_book(const run_book_config& config);

  /// Same key and digest: nothing happens. Same key, other digest (or the earlier run is condemned): a worker that was
  /// started again asks at the same point, and must not get the verdict of what its predecessor ran. After the end of a
  /// run its key is free again.
  /// Fails: `ec::refused` (no slot of that kind here; the race was cancelled).
  caf::expected<admission> admit(run what, time_point now);

  /// Gives free slots to waiting runs, in the queue's order; the runs to start now.
  std::vector<run_number> place(time_point now);

  /// Drops or condemns every run of this race, or of one of its workers if named. A whole race's later runs are
  /// refused: a worker that is about to be stopped may still send one. Idempotent; running ones are named again until
  /// they are finished.
  cancellation cancel(const race_id& race, const worker_id& worker);

  /// Running runs whose lease has expired since the last call.
  std::vector<run_number> expire(time_point now);

  /// The tree of a run is gone (or it could not be started): its slot is free. Empty if unknown.
  std::optional<run_entry> finish(run_number run);

  /// The tree of a run on a shared GPU is gone, and its end, `how`, may be its neighbours' doing: it waits again, for the
  /// device alone. False, and nothing happens, if it had no neighbours, was alone already, or was killed by us.
  bool repeat_alone(run_number run, const std::string& how, time_point now);

  /// `lease_table::limit`.
  void limit(std::uint32_t gpu, std::uint32_t runs) { leases_.limit(gpu, runs); }
  std::uint32_t runs_on(std::uint32_t gpu) const { return leases_.runs_on(gpu); }

  /// One sign of life for each run that is waiting or running.
  std::vector<run_progress> progress() const;

  /// Null if unknown.
  const run_entry* find(run_number run) const;
  std::vector<run_number> running() const;
  bool empty() const { return entries_.empty(); }

private:
  run_queue& queue(slot_kind kind) { return queues_[kind == slot_kind::gpu ? 1 : 0]; }
  void remember_cancelled(const race_id& race);
  std::optional<run_number> supersede(run_number old);
  void forget(run_number run);
  void leave_queue(const run_entry& entry);
  bool start(run_entry& entry, time_point now);

  run_book_config config_;
  lease_table leases_;
  std::array<run_queue, 2> queues_;  ///< One per slot kind, so that a full kind does not hold up the other.
  std::vector<run_number> claimants_;  ///< Had their turn; their device still has other runs.
  run_number last_ = 0;
  std::map<run_number, run_entry> entries_;
  std::unordered_map<work_key, run_number> current_;  ///< Of superseded runs nothing stands here.
  std::unordered_set<race_id> cancelled_;
  std::deque<race_id> cancelled_order_;
};

}  // namespace regatta
