// SPDX-License-Identifier: Apache-2.0
/// \file
/// RUN QUEUE: who gets the next slot. Races take turns, each in its own order of arrival, so a race with a thousand
/// runs delays a race with one by one run at most. A worker waits for its run, so within a race nobody overtakes.
#pragma once

#include "messages/ids.hpp"

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace regatta {

/// Numbers the runs of one evaluator; never used again, so an answer for an earlier run of the same work key
/// cannot be taken for a later one's.
using run_number = std::uint64_t;

class run_queue {
public:
  void push(const race_id& race, run_number run);

  /// Takes out whose turn it is.
  std::optional<run_number> pop();

  /// False if it was not in the queue.
  bool erase(run_number run);

  /// Every waiting run and how many get a slot before it, if nothing else arrives.
  std::vector<std::pair<run_number, std::uint32_t>> positions() const;

  std::size_t size() const { return race_of_.size(); }

private:
  struct line {
    race_id race;
    std::deque<run_number> runs;  ///< Never empty.
  };

  /// In order of turns: the front is next, and goes to the back after its turn.
  std::list<line> lines_;
  std::unordered_map<race_id, std::list<line>::iterator> line_of_;
  std::unordered_map<run_number, race_id> race_of_;
};

}  // namespace regatta
