// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/replay_order.hpp"

#include "messages/limits.hpp"

#include <utility>

namespace regatta {

static_assert(replay_order::absent_after == silence_limit);

bool replay_order::can_win(const recording_key& key) const {
  const auto it = source_->replies.find(key);
  if (it == source_->replies.end() || it->second.is_stalled || !it->second.is_accepted.value_or(true)) {
    return false;
  }
  return has_text(result_of(it->second).outcome);
}

std::optional<replay_order::place> replay_order::first_win(const recording_key& key) const {
  for (auto it = source_->replies.lower_bound(key); it != source_->replies.end(); ++it) {
    if (it->first.worker != key.worker) {
      break;
    }
    if (can_win(it->first)) {
      return place{it->first.round, key.worker};
    }
  }
  return std::nullopt;
}

void replay_order::expect(std::uint32_t workers) {
  std::uint32_t known = workers;
  if (known == 0) {
    known = source_->replies.empty() ? 0 : source_->replies.rbegin()->first.worker;
  }
  // Through the replies, not the numbers: a line may name worker four thousand million.
  for (auto it = source_->replies.begin(); it != source_->replies.end();) {
    const auto worker = it->first.worker;
    if (worker <= known) {
      racers_.try_emplace(worker, standing{step::unheard, {worker, 1, 1}, first_win({worker, 1, 1})});
    }
    it = source_->replies.upper_bound({worker, max_rounds + 1, 0});
    while (it != source_->replies.end() && it->first.worker == worker) {
      ++it;
    }
  }
}

void replay_order::on_ask(const recording_key& key, std::uint32_t workers, time_point now) {
  if (!std::exchange(is_begun_, true)) {
    first_ask_ = now;
    expect(workers);
  }
  racers_[key.worker] = {step::asking, key, first_win(key)};
}

void replay_order::on_done(std::uint32_t worker) {
  auto& racer = racers_[worker];
  racer.at = step::done;
  racer.next_win.reset();
}

std::vector<recording_key> replay_order::release(time_point now) {
  std::vector<recording_key> out;
  std::optional<place> first;
  for (auto& [worker, racer] : racers_) {
    if (racer.at == step::unheard && now - first_ask_ >= absent_after) {
      on_done(worker);
    }
    if (racer.next_win && (!first || *racer.next_win < *first)) {
      first = racer.next_win;
    }
  }
  for (auto& [worker, racer] : racers_) {
    const bool can = can_win(racer.key);
    const bool is_turn = !is_ordered_ || !can || (first && *first == place{racer.key.round, worker});
    if (racer.at == step::asking && is_turn) {
      racer.at = step::busy;
      // What cannot win is over as far as the order is concerned: its worker's next chance comes later.
      auto next = racer.key;
      ++next.attempt;
      racer.next_win = can ? racer.next_win : first_win(next);
      out.push_back(racer.key);
    }
  }
  return out;
}

std::string replay_order::whose_turn() const {
  std::optional<place> first;
  for (const auto& [worker, racer] : racers_) {
    if (racer.next_win && (!first || *racer.next_win < *first)) {
      first = racer.next_win;
    }
  }
  return first ? "worker " + std::to_string(first->worker) + ", round " + std::to_string(first->round) : std::string{};
}

}  // namespace regatta
