// SPDX-License-Identifier: Apache-2.0
#include "node/run_book.hpp"

#include <algorithm>
#include <utility>

namespace regatta {

namespace {

/// Cancelled races that are remembered. A node sees a few thousand in a night; an id is 30 bytes. Judgement.
constexpr std::size_t remembered_races = 10'000;

run_progress progress_of(const run_entry& x, std::uint32_t ahead) {
  return {
      x.what.race, x.what.worker, x.what.round, x.what.attempt, x.held.has_value(), ahead, x.held ? x.held->slot : ""};
}

}  // namespace

run_book::run_book(const run_book_config& config)
    : config_{config}, leases_{config.cpu_slots, config.gpus, config.slots_per_gpu} {}

caf::expected<run_book::admission> run_book::admit(run what, time_point now) {
  // A winner is timed when all else of its race was cancelled.
  if (cancelled_.contains(what.race) && !what.is_timing) {
    return fail(ec::refused, "race " + what.race.text + " is cancelled");
  }
  const auto kind = leases_.kind_for(what.device);
  if (!kind) {
    return fail(ec::refused, "node " + config_.node.text + " has no slot for device need " + to_string(what.device));
  }
  admission result{true, {}};
  const auto key = key_of(what);
  if (const auto same = current_.find(key); same != current_.end()) {
    const auto& earlier = entries_.at(same->second);
    if (earlier.what.digest == what.digest && earlier.stop == stop_cause::none) {
      return admission{};
    }
    result.to_kill = supersede(same->second);
  }
  const auto number = ++last_;
  current_[key] = number;
  queue(*kind).push(what.race, number);
  entries_.emplace(number, run_entry{number, std::move(what), *kind, now, {}, {}, stop_cause::none, {}});
  return result;
}

std::optional<run_number> run_book::supersede(run_number old) {
  auto& entry = entries_.at(old);
  current_.erase(key_of(entry.what));
  if (!entry.held) {
    leave_queue(entry);
    entries_.erase(old);
    return std::nullopt;
  }
  entry.stop = stop_cause::superseded;
  return old;
}

bool run_book::start(run_entry& entry, time_point now) {
  const auto how = entry.what.is_timing || !entry.first_end.empty() ? sharing::exclusive : sharing::shared;
  entry.held = leases_.acquire(entry.kind, entry.number, now + entry.what.limits.wall + config_.lease_grace, how);
  entry.started_at = now;
  return entry.held.has_value();
}

std::vector<run_number> run_book::place(time_point now) {
  std::vector<run_number> started;
  std::erase_if(claimants_, [&](run_number each) {
    const bool has_place = start(entries_.at(each), now);
    if (has_place) {
      started.push_back(each);
    }
    return has_place;
  });
  for (const auto kind : {slot_kind::gpu, slot_kind::cpu}) {
    while (leases_.has_free(kind)) {
      const auto next = queue(kind).pop();
      if (!next) {
        break;
      }
      (start(entries_.at(*next), now) ? started : claimants_).push_back(*next);
    }
  }
  return started;
}

run_book::cancellation run_book::cancel(const race_id& race, const worker_id& worker) {
  if (worker.empty()) {
    remember_cancelled(race);
  }
  cancellation result;
  std::vector<run_number> waiting;
  for (auto& [number, entry] : entries_) {
    if (entry.what.race != race || (!worker.empty() && entry.what.worker != worker)) {
      continue;
    }
    if (!entry.held) {
      waiting.push_back(number);
      continue;
    }
    entry.stop = entry.stop == stop_cause::none ? stop_cause::cancelled : entry.stop;
    result.to_kill.push_back(number);
  }
  for (const auto number : waiting) {
    result.dropped.push_back(std::move(*finish(number)));
  }
  return result;
}

std::vector<run_number> run_book::expire(time_point now) {
  std::vector<run_number> result;
  for (const auto number : leases_.expired(now)) {
    auto& entry = entries_.at(number);
    if (entry.stop == stop_cause::none) {
      entry.stop = stop_cause::lease_expired;
      result.push_back(number);
    }
  }
  return result;
}

std::optional<run_entry> run_book::finish(run_number run) {
  const auto at = entries_.find(run);
  if (at == entries_.end()) {
    return std::nullopt;
  }
  auto entry = at->second;
  leave_queue(entry);
  forget(run);
  return entry;
}

void run_book::leave_queue(const run_entry& entry) {
  leases_.release(entry.number);
  queue(entry.kind).erase(entry.number);
  std::erase(claimants_, entry.number);
}

bool run_book::repeat_alone(run_number run, const std::string& how, time_point now) {
  const auto at = entries_.find(run);
  if (at == entries_.end() || !leases_.had_company(run) || at->second.stop != stop_cause::none ||
      at->second.kind != slot_kind::gpu) {
    return false;
  }
  auto& entry = at->second;
  leases_.release(run);
  entry.held.reset();
  entry.first_end = how.empty() ? "failed" : how;
  entry.queued_at = now;
  queue(entry.kind).push(entry.what.race, run);
  return true;
}

std::vector<run_progress> run_book::progress() const {
  std::vector<run_progress> result;
  for (const auto& [number, entry] : entries_) {
    if (entry.held && entry.stop != stop_cause::superseded) {
      result.push_back(progress_of(entry, 0));
    }
  }
  for (const auto number : claimants_) {
    result.push_back(progress_of(entries_.at(number), 0));
  }
  for (const auto& waiting : queues_) {
    for (const auto& [number, ahead] : waiting.positions()) {
      result.push_back(progress_of(entries_.at(number), ahead));
    }
  }
  return result;
}

const run_entry* run_book::find(run_number run) const {
  const auto at = entries_.find(run);
  return at == entries_.end() ? nullptr : &at->second;
}

std::vector<run_number> run_book::running() const {
  std::vector<run_number> result;
  for (const auto& [number, entry] : entries_) {
    if (entry.held) {
      result.push_back(number);
    }
  }
  return result;
}

void run_book::remember_cancelled(const race_id& race) {
  if (!cancelled_.insert(race).second) {
    return;
  }
  cancelled_order_.push_back(race);
  if (cancelled_order_.size() > remembered_races) {
    cancelled_.erase(cancelled_order_.front());
    cancelled_order_.pop_front();
  }
}

void run_book::forget(run_number run) {
  const auto at = entries_.find(run);
  const auto current = current_.find(key_of(at->second.what));
  if (current != current_.end() && current->second == run) {
    current_.erase(current);
  }
  entries_.erase(at);
}

}  // namespace regatta
