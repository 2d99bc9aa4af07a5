// SPDX-License-Identifier: Apache-2.0
/// \file
/// The rules of a RACE: who runs where, who wins, when nothing of it runs any more.
///
///   running --first accepted candidate, stop, deadline, last worker ended, actor lost--> stopping
///   stopping --every node quiet and every stream closed, or `quiet_timeout`--> over
///   stopping --every node quiet, the race is won and `--timing`--> timing --its end, a stop, `timing_timeout`--> over
///
/// Exactly one decision: the first that leaves `running`. Events are numbered here, so there is one sequence.
#pragma once

#include "messages/dedup.hpp"
#include "messages/error.hpp"
#include "messages/event.hpp"
#include "messages/llm.hpp"
#include "messages/race.hpp"
#include "messages/race_control.hpp"

#include <caf/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

/// Requests to a node; its answer comes back with the node's id.
struct node_order {
  node_id node;
  std::variant<spawn_worker, cancel, run> body;  ///< `run`: the timing of the winner.
};
/// What a worker of that node hears.
struct node_note {
  node_id node;
  std::variant<prompt_progress, prompt_ended, reservation_resolved> body;
};
/// The last event is out: commit, close, go.
struct race_over {
  race_ended ended;
  std::uint64_t last_seq = 0;
};
/// What the shell must do, in this order.
using race_effect =
    std::variant<event, node_order, node_note, withdraw_prompts, release, restore_race, forget_race, race_over>;

struct race_rules_config {
  race_spec spec;
  std::vector<node_id> nodes;
  std::string version;
  std::function<std::int64_t()> wall_clock_us;
  std::optional<race_standing> standing;  ///< Where to go on; empty: from the beginning.
};

class race_rules {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit race_rules(race_rules_config config);
  void begin(time_point now);

  /// From workers. The first two fail: `ec::refused`, `ec::unknown_worker`; if not, pass the question on.
  caf::error on_prompt(const prompt& msg);
  caf::error on_reserve(const reserve& msg);
  void on_report(const report& msg);
  void on_winner(const winner& msg, time_point now);
  void on_worker_ended(const worker_ended& msg, time_point now);

  /// From nodes.
  void on_spawned(const spawn_worker& msg, const caf::error& failure, time_point now);
  void on_cancelled(const node_id& node, const cancelled& answer, time_point now);
  void on_cancel_failed(const node_id& node, time_point now);
  void on_node_quiet(const node_quiet& msg, time_point now);
  /// Of the winner's timing.
  void on_run_ended(const run_ended& msg, time_point now);
  void on_timing_refused(const caf::error& why, time_point now);
  void on_node_lost(const node_id& node, const std::string& reason, time_point now);

  /// From gateway and registry. `calls`: how many streams were closed; 0 also if nobody answered.
  void on_prompt_progress(const prompt_progress& msg);
  void on_prompt_delta(const prompt_delta& msg);
  void on_prompt_ended(const prompt_ended& msg, time_point now);
  void on_withdrawn(const worker_id& worker, std::uint32_t calls, time_point now);
  void on_reservation_resolved(const reservation_resolved& msg);
  /// `what` names an actor without which no race can go on.
  void on_essential_lost(const std::string& what, const std::string& reason, time_point now);

  void on_stop(const stop_race& msg, time_point now);
  /// The race's own actor is going down: the record gets its last event, nothing is waited for.
  void abandon(const std::string& reason, time_point now);

  void on_wake(time_point now);
  std::optional<time_point> deadline() const;
  bool is_running() const { return phase_ == phase::running; }
  bool is_over() const { return phase_ == phase::over; }
  std::vector<race_effect> take_effects() { return std::exchange(effects_, {}); }

private:
  enum class phase : std::uint8_t { running, stopping, timing, over };
  struct racer {
    worker_spec spec;
    std::uint32_t start = 0;          ///< 0: never started.
    std::uint32_t former_starts = 0;  ///< Of these, by former processes.
    node_id node;
    bool is_alive = false;       ///< This start was ordered and has not ended.
    bool is_announced = false;   ///< `worker_started` is out for this start.
    bool is_restarting = false;  ///< Waits until the former start's LLM call is closed.
    worker_progress progress;
    std::string reply;       ///< The last one, until its code is looked for.
    bool is_cut = false;     ///< `reply` is.
    std::string round_code;  ///< Found in the current round.
    std::vector<source_digest> round_digests;
    std::optional<work_key> open_prompt;
    bool is_withdrawn = false;            ///< `open_prompt` is; its end is on the way and nobody waits for it.
    std::optional<work_key> told_prompt;  ///< The last one that ended: its answer may come twice.
    std::optional<worker_end> end;
    std::string reason;
  };

  void emit(fact body);
  racer* find(const worker_id& worker);
  bool has_open(const racer& who, const work_key& key) const { return who.open_prompt == key; }
  caf::error admit(const racer* who, const worker_id& worker) const;
  void announce(racer& who);
  void track(racer& who, const fact& body);
  void track_evaluation(racer& who, const candidate_evaluated& body);
  void track_failed_round(racer& who, const round_failed& body);

  void take_up(const race_standing& from, time_point now);
  void adopt(const race_standing& from);
  std::vector<settled_candidate> settled_so_far(const race_standing& from) const;
  void start_workers(time_point now);
  void count(const prompt_ended& msg, bool is_known);
  void start_worker(racer& who, time_point now);
  std::optional<node_id> next_node();
  void on_racer_ended(racer& who, worker_end end, const std::string& reason, time_point now);
  void decide_without_winner(time_point now);

  void decide(race_end end, std::string reason, std::string why, time_point now);
  void on_all_signalled(time_point now);
  /// Each withdrawn call has an end of its own, with what it cost, that the gateway's answer may overtake.
  bool has_open_prompts() const;
  void finish_if_quiet(time_point now);
  void keep_for_timing(const winner& msg, const node_id& node);
  /// False: there is nothing to be timed, or nobody to do it.
  bool begin_timing(time_point now);
  void stop_timing(std::string why, time_point now);
  void end_timing(std::string record, std::string why, time_point now);
  void finish(time_point now);
  race_ended summary(time_point now) const;

  race_rules_config config_;
  phase phase_ = phase::running;
  std::uint64_t seq_ = 0;
  std::map<worker_id, racer> racers_;
  std::size_t living_ = 0;  ///< Workers that run or will be started again.
  std::vector<node_id> live_nodes_;
  std::vector<node_id> willing_nodes_;  ///< Those of them that have refused no worker of this race.
  std::size_t next_node_ = 0;

  time_point started_at_;
  time_point decided_at_;
  std::optional<time_point> signalled_at_;
  std::optional<time_point> quiet_at_;   ///< If timing came after it.
  std::optional<time_point> timing_until_;
  std::optional<node_order> timing_order_;  ///< Of the winner; empty: it is not to be timed.
  race_ended ended_;  ///< Filled as facts become known.
  std::string why_;   ///< Of the decision, for `race_cancelled`.
  std::set<node_id> unsignalled_;
  std::set<node_id> unquiet_;
  std::set<node_id> unconfirmed_;
  std::optional<std::uint32_t> withdrawn_;  ///< The answer to `withdraw_prompts` of the whole race.
  std::uint32_t cancelled_prompts_ = 0;     ///< Of these, those whose end has come.
  bool is_cancel_told_ = false;
  race_cancelled stopped_;
  std::set<worker_id> passed_;  ///< Winner and runners-up: a repeated `winner` is no second one.
  std::vector<race_effect> effects_;
};

/// Fails: `ec::invalid_config` or `ec::refused`, naming field, got and allowed.
caf::error validate(const race_spec& spec);

}  // namespace regatta
