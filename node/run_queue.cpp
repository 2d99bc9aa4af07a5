// SPDX-License-Identifier: Apache-2.0
#include "node/run_queue.hpp"

#include <algorithm>

namespace regatta {

void run_queue::push(const race_id& race, run_number run) {
  auto found = line_of_.find(race);
  if (found == line_of_.end()) {
    found = line_of_.emplace(race, lines_.insert(lines_.end(), line{race, {}})).first;
  }
  found->second->runs.push_back(run);
  race_of_.emplace(run, race);
}

std::optional<run_number> run_queue::pop() {
  if (lines_.empty()) {
    return std::nullopt;
  }
  auto& turn = lines_.front();
  const auto run = turn.runs.front();
  turn.runs.pop_front();
  race_of_.erase(run);
  if (turn.runs.empty()) {
    line_of_.erase(turn.race);
    lines_.pop_front();
  } else {
    lines_.splice(lines_.end(), lines_, lines_.begin());
  }
  return run;
}

bool run_queue::erase(run_number run) {
  const auto race = race_of_.find(run);
  if (race == race_of_.end()) {
    return false;
  }
  const auto at = line_of_.find(race->second);
  // A whole race is cancelled in order of arrival, which finds each run at the front.
  at->second->runs.erase(std::ranges::find(at->second->runs, run));
  if (at->second->runs.empty()) {
    lines_.erase(at->second);
    line_of_.erase(at);
  }
  race_of_.erase(race);
  return true;
}

std::vector<std::pair<run_number, std::uint32_t>> run_queue::positions() const {
  std::vector<std::pair<run_number, std::uint32_t>> result;
  result.reserve(race_of_.size());
  std::vector<std::deque<run_number>::const_iterator> next;
  std::vector<const line*> turns;
  for (const auto& each : lines_) {
    turns.push_back(&each);
    next.push_back(each.runs.begin());
  }
  // Plays the turns out: `n` runs cost `n` steps, not `n` times the number of races.
  for (std::uint32_t ahead = 0; !turns.empty();) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      result.emplace_back(*next[i], ahead++);
      if (++next[i] != turns[i]->runs.end()) {
        turns[kept] = turns[i];
        next[kept] = next[i];
        ++kept;
      }
    }
    turns.resize(kept);
    next.resize(kept);
  }
  return result;
}

}  // namespace regatta
