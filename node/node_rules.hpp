// SPDX-License-Identifier: Apache-2.0
/// \file
/// The rules of a NODE AGENT: which workers and runs of which race live here, and when nothing does any more.
///
/// Per race, after `cancel`:  cancel_runs → (signalled) → workers stopped → `cancelled` → last tree reaped →
/// `node_quiet`
///
/// A worker that crashed is reported only once its candidate is gone, or `quiet_timeout` later: a new start of it
/// would ask for a run under the same key.
#pragma once

#include "messages/error.hpp"
#include "messages/evaluation.hpp"
#include "messages/ids.hpp"
#include "messages/race.hpp"

#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

/// Ends every worker of this race; each is then reported by `on_worker_down`.
struct stop_workers {
  race_id race;
};

/// The end of a winner's timing; for its race, as no worker waits for it.
struct timing_over {
  run_ended message;
};

/// What the shell must do, in this order. `run_ended` goes to its worker, `cancelled` to whoever asked.
using node_effect =
    std::variant<cancel_runs, stop_workers, cancelled, run_ended, timing_over, worker_ended, node_quiet>;

class node_rules {
public:
  using time_point = std::chrono::steady_clock::time_point;
  enum class spawn_answer : std::uint8_t { start_it, has_it };

  explicit node_rules(node_id self) : self_{std::move(self)} {}

  /// Fails: `ec::refused` (cancelled race, shutting down), `ec::not_current`, `ec::already_exists`.
  caf::expected<spawn_answer> on_spawn(const spawn_worker& msg);
  /// `has_told`: it ended by itself, after its own `worker_ended`.
  void on_worker_down(const race_id& race, const worker_id& worker, bool has_told, const std::string& reason,
                      time_point now);

  /// Fails: `ec::refused`, `ec::link_down` (shutting down), `ec::unknown_worker`. If it does not, the run is open until it is ended or refused.
  /// A timing is refused as long as anything else of its race lives here.
  caf::error on_run(const run& msg);
  /// The evaluator does not have this run (any more).
  void on_run_gone(const work_key& key);
  /// Passes on what is open, once.
  void on_run_ended(const run_ended& msg);
  bool is_open(const work_key& key) const;
  /// Every open run ends as `sandbox_failed`; its race is never reported quiet, since nobody can know.
  void on_evaluator_lost(const std::string& reason);

  void on_cancel(const race_id& race);
  /// The answer to `cancel_runs` of a race, or that there will be none (0).
  void on_signalled(const race_id& race, std::uint32_t runs);
  /// Stops everything and refuses what comes. Workers of races that go on count as crashed: they start elsewhere.
  void on_shutdown();
  bool is_empty() const;

  void on_wake(time_point now);
  std::optional<time_point> deadline() const;
  std::vector<node_effect> take_effects() { return std::exchange(effects_, {}); }

private:
  struct worker_entry {
    std::uint32_t start = 1;
    bool is_alive = true;
  };
  /// A crash that waits for its candidate to be gone, and until when.
  struct unreported_crash {
    worker_ended message;
    time_point until;
  };
  struct race_entry {
    std::map<worker_id, worker_entry> workers;
    std::uint32_t living = 0;  ///< Of `workers`.
    std::set<work_key> open_runs;
    bool is_cancelled = false;  ///< By its race, or with all others as the node shuts down.
    bool is_left = false;       ///< … the latter: its workers may start again elsewhere.
    bool is_signalled = false;
    bool is_answered = false;
    bool is_quiet = false;
    bool has_lost_runs = false;
    std::uint32_t runs = 0;     ///< Signalled.
    std::uint32_t stopped = 0;  ///< Workers.
    std::optional<work_key> timing;  ///< One of `open_runs`.
    bool has_run_of(const worker_id& worker) const;
  };

  caf::error on_timing(const run& msg);
  void settle_race(const race_id& race, race_entry& entry);

  node_id self_;
  bool is_shutting_down_ = false;
  std::map<race_id, race_entry> races_;
  std::map<std::pair<race_id, worker_id>, unreported_crash> unreported_;
  std::vector<node_effect> effects_;
};

inline work_key key_of(const auto& msg) {
  return {msg.race, msg.worker, msg.round, msg.attempt};
}

}  // namespace regatta
