// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/replay_player.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace regatta {

namespace {

std::chrono::milliseconds delay_before(const recorded_reply& reply, std::size_t delta) {
  return delta < reply.delays.size() ? reply.delays[delta] : std::chrono::milliseconds{0};
}

}  // namespace

std::uint32_t number_of(const worker_id& worker) {
  const auto last = worker.text.find_last_not_of("0123456789");
  const auto digits = worker.text.substr(last == std::string::npos ? 0 : last + 1);
  std::uint32_t out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

void replay_player::ask(const work_key& key, std::uint32_t workers, time_point now) {
  auto& race = races_.try_emplace(key.race, race_state{replay_order{source_, is_ordered_}, {}, {}}).first->second;
  const recording_key asked{number_of(key.worker), key.round, key.attempt};
  race.asked[asked] = key;
  race.order.on_ask(asked, workers, now);
}

void replay_player::forget(const race_id& race, const worker_id& worker) {
  const auto it = races_.find(race);
  if (it == races_.end()) {
    return;
  }
  const auto number = number_of(worker);
  std::erase_if(it->second.asked, [&](const auto& x) { return x.first.worker == number; });
  std::erase_if(it->second.running, [&](const auto& x) { return x.call.worker == worker; });
  it->second.order.on_done(number);
}

void replay_player::forget(const race_id& race) {
  races_.erase(race);
}

std::string replay_player::waits_for(const work_key& key) const {
  const auto it = races_.find(key.race);
  const bool is_held = it != races_.end() && it->second.asked.contains({number_of(key.worker), key.round, key.attempt});
  return is_held ? "replay: the turn of " + it->second.order.whose_turn() : std::string{};
}

std::vector<replay_step> replay_player::advance(time_point now) {
  std::vector<replay_step> out;
  for (auto& [id, race] : races_) {
    end_unrecorded(race, out);
    for (const auto& key : race.order.release(now)) {
      begin(race, key, now);
    }
    for (auto& running : race.running) {
      if (play(running, now, out)) {
        running.reply = nullptr;
      }
    }
    std::erase_if(race.running, [](const auto& x) { return x.reply == nullptr; });
  }
  return out;
}

void replay_player::end_unrecorded(race_state& race, std::vector<replay_step>& out) const {
  std::vector<recording_key> missing;
  for (const auto& [key, call] : race.asked) {
    if (!source_.replies.contains(key)) {
      missing.push_back(key);
      try_result end;
      end.outcome = llm_outcome::recording_ended;
      end.error = file_ + " has no entry for worker " + std::to_string(key.worker) + ", round " +
                  std::to_string(key.round) + ", attempt " + std::to_string(key.attempt);
      out.push_back({call, "", std::move(end)});
    }
  }
  for (const auto& key : missing) {
    race.asked.erase(key);
    race.order.on_done(key.worker);
  }
}

void replay_player::begin(race_state& race, const recording_key& key, time_point now) {
  const auto call = race.asked.extract(key);
  const auto reply = source_.replies.find(key);
  if (!call.empty() && reply != source_.replies.end()) {
    race.running.push_back({call.mapped(), &reply->second, 0, now + delay_before(reply->second, 0)});
  }
}

bool replay_player::play(playing& x, time_point now, std::vector<replay_step>& out) const {
  replay_step step{x.call, "", std::nullopt};
  while (x.told < x.reply->deltas.size() && x.next_at <= now) {
    step.text += x.reply->deltas[x.told++];
    x.next_at += delay_before(*x.reply, x.told);
  }
  // An entry without deltas still waits out its one delay.
  const bool is_over = x.told == x.reply->deltas.size() && (x.told > 0 || x.next_at <= now) && !x.reply->is_stalled;
  if (is_over) {
    step.end = result_of(*x.reply);
  }
  if (is_over || !step.text.empty()) {
    out.push_back(std::move(step));
  }
  return is_over;
}

}  // namespace regatta
