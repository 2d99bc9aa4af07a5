// SPDX-License-Identifier: Apache-2.0
#include "node/node_rules.hpp"

#include "messages/limits.hpp"

#include <algorithm>

namespace regatta {

bool node_rules::race_entry::has_run_of(const worker_id& worker) const {
  return std::ranges::any_of(open_runs, [&](const work_key& x) { return x.worker == worker; });
}

caf::expected<node_rules::spawn_answer> node_rules::on_spawn(const spawn_worker& msg) {
  if (is_shutting_down_) {
    return fail(ec::refused, to_string(self_) + " is shutting down");
  }
  auto& race = races_[msg.race];
  if (race.is_cancelled) {
    return fail(ec::refused, to_string(msg.race) + " is cancelled");
  }
  const auto [it, is_new] = race.workers.try_emplace(msg.spec.worker);
  auto& entry = it->second;
  if (!is_new) {
    if (msg.start == entry.start) {
      return spawn_answer::has_it;
    }
    if (msg.start < entry.start) {
      return fail(ec::not_current, "start " + std::to_string(entry.start) + " is here already");
    }
    if (entry.is_alive) {
      return fail(ec::already_exists, "start " + std::to_string(entry.start) + " still lives");
    }
  }
  entry.is_alive = true;
  entry.start = msg.start;
  ++race.living;
  return spawn_answer::start_it;
}

void node_rules::on_worker_down(const race_id& race, const worker_id& worker, bool has_told, const std::string& reason,
                                time_point now) {
  auto& entry = races_[race];
  auto& down = entry.workers[worker];
  if (!std::exchange(down.is_alive, false)) {
    return;
  }
  --entry.living;
  if (entry.is_cancelled) {
    ++entry.stopped;
    if (!has_told && entry.is_left) {
      effects_.emplace_back(worker_ended{race, worker, down.start, worker_end::crashed,
                                         "node " + to_string(self_) + " is shutting down"});
    } else if (!has_told) {
      effects_.emplace_back(worker_ended{race, worker, down.start, worker_end::cancelled, "the race was stopped"});
    }
  } else if (!has_told) {
    worker_ended told{race, worker, down.start, worker_end::crashed, reason};
    if (entry.has_run_of(worker)) {
      effects_.emplace_back(cancel_runs{race, worker});
      unreported_.insert_or_assign({race, worker}, unreported_crash{std::move(told), now + quiet_timeout});
    } else {
      effects_.emplace_back(std::move(told));
    }
  }
  settle_race(race, entry);
}

caf::error node_rules::on_timing(const run& msg) {
  if (is_shutting_down_) {
    return fail(ec::link_down, "node " + to_string(self_) + " is shutting down");
  }
  auto& race = races_[msg.race];
  const bool is_same = race.timing == key_of(msg);
  if (!is_same && (race.living > 0 || !race.open_runs.empty())) {
    return fail(ec::refused, to_string(msg.race) + " is not quiet on node " + to_string(self_));
  }
  race.timing = key_of(msg);
  race.open_runs.insert(key_of(msg));
  return caf::none;
}

caf::error node_rules::on_run(const run& msg) {
  if (msg.is_timing) {
    return on_timing(msg);
  }
  const auto race = races_.find(msg.race);
  if (race != races_.end() && race->second.is_cancelled && !race->second.is_left) {
    return fail(ec::refused, to_string(msg.race) + " is cancelled");
  }
  if (is_shutting_down_) {
    // Not `refused`: the race goes on, and so may this worker, elsewhere.
    return fail(ec::link_down, "node " + to_string(self_) + " is shutting down");
  }
  if (race == races_.end() || !race->second.workers.contains(msg.worker)) {
    return fail(ec::unknown_worker, to_string(msg.worker));
  }
  race->second.open_runs.insert(key_of(msg));
  return caf::none;
}

bool node_rules::is_open(const work_key& key) const {
  const auto race = races_.find(key.race);
  return race != races_.end() && race->second.open_runs.contains(key);
}

void node_rules::on_run_ended(const run_ended& msg) {
  if (!is_open(key_of(msg))) {
    return;
  }
  if (races_.at(msg.race).timing == key_of(msg)) {
    effects_.emplace_back(timing_over{msg});
  } else {
    effects_.emplace_back(msg);
  }
  on_run_gone(key_of(msg));
}

void node_rules::on_run_gone(const work_key& key) {
  const auto race = races_.find(key.race);
  if (race == races_.end()) {
    return;
  }
  auto& entry = race->second;
  entry.open_runs.erase(key);
  if (entry.timing == key) {
    entry.timing.reset();
  }
  const auto crash = unreported_.find({key.race, key.worker});
  if (crash != unreported_.end() && !entry.has_run_of(key.worker)) {
    effects_.emplace_back(std::move(crash->second.message));
    unreported_.erase(crash);
  }
  settle_race(key.race, entry);
}

void node_rules::on_evaluator_lost(const std::string& reason) {
  for (auto& [race, entry] : races_) {
    entry.has_lost_runs = entry.has_lost_runs || !entry.open_runs.empty();
    for (const auto& key : std::set{entry.open_runs}) {
      run_ended lost{key.race, key.worker, key.round, key.attempt, {}};
      lost.result.outcome = outcome::sandbox_failed;
      lost.result.reason = "evaluator ended: " + reason;
      lost.result.node = self_.text;
      on_run_ended(lost);
    }
  }
}

void node_rules::on_cancel(const race_id& race) {
  auto& entry = races_[race];
  entry.is_left = entry.is_left && is_shutting_down_ && !entry.is_cancelled;
  if (!entry.is_cancelled) {
    entry.is_cancelled = true;
    effects_.emplace_back(cancel_runs{race, {}});
    // In the same step: what waits for an answer after the kill waits behind hundreds of dying processes (ADR 7).
    if (entry.living > 0) {
      effects_.emplace_back(stop_workers{race});
    }
    return;
  }
  // Asked again: the first answer may be lost, so say again whatever was said.
  entry.is_answered = false;
  entry.is_quiet = false;
  if (entry.timing) {
    entry.is_signalled = false;
    effects_.emplace_back(cancel_runs{race, {}});
    return;
  }
  settle_race(race, entry);
}

void node_rules::on_signalled(const race_id& race, std::uint32_t runs) {
  auto& entry = races_[race];
  if (!entry.is_cancelled || entry.is_signalled) {
    return;
  }
  entry.is_signalled = true;
  entry.runs = runs;
  settle_race(race, entry);
}

void node_rules::settle_race(const race_id& race, race_entry& entry) {
  if (!entry.is_signalled || entry.living > 0) {
    return;
  }
  if (!std::exchange(entry.is_answered, true)) {
    effects_.emplace_back(cancelled{race, self_, entry.runs, entry.stopped});
  }
  if (entry.open_runs.empty() && !entry.has_lost_runs && !std::exchange(entry.is_quiet, true)) {
    effects_.emplace_back(node_quiet{race, self_});
    entry.workers.clear();
  }
}

void node_rules::on_shutdown() {
  is_shutting_down_ = true;
  for (auto& [race, entry] : races_) {
    if (!entry.is_cancelled) {
      entry.is_left = true;
      on_cancel(race);
    }
  }
}

bool node_rules::is_empty() const {
  return std::ranges::all_of(races_, [](const auto& x) { return x.second.living == 0 && x.second.open_runs.empty(); });
}

std::optional<node_rules::time_point> node_rules::deadline() const {
  std::optional<time_point> first;
  for (const auto& [key, crash] : unreported_) {
    first = first ? std::min(*first, crash.until) : crash.until;
  }
  return first;
}

void node_rules::on_wake(time_point now) {
  std::erase_if(unreported_, [&](auto& x) {
    if (now < x.second.until) {
      return false;
    }
    effects_.emplace_back(x.second.message);
    return true;
  });
}

}  // namespace regatta
