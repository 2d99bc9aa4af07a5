// SPDX-License-Identifier: Apache-2.0
/// \file
/// EVENT GATE: whoever has been told of an evaluation may rely on it, so it is on disk before display, `--json` and
/// event socket hear of it, and whatever comes behind it waits with it. Pure.
#pragma once

#include "messages/event.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

namespace regatta {

class event_gate {
public:
  /// Those that may be told now, in order.
  std::vector<event> on_event(const event& x) {
    held_.push_back(x);
    return release(0);
  }

  /// Ask the store to commit up to this `seq`, and say what came of it; empty: nothing to ask now. One question at a
  /// time, so that evaluations that end together share one commit.
  std::optional<std::uint64_t> next_commit() {
    if (is_asking_ || held_.empty()) {
      return std::nullopt;
    }
    is_asking_ = true;
    return held_.back().seq;
  }

  /// On disk, or refused: a full disk must not silence the race.
  std::vector<event> on_answer(std::uint64_t seq) {
    is_asking_ = false;
    return release(seq);
  }

private:
  static bool must_be_on_disk(const event& x) { return std::holds_alternative<candidate_evaluated>(x.body); }

  std::vector<event> release(std::uint64_t committed) {
    std::vector<event> out;
    while (!held_.empty() && (held_.front().seq <= committed || !must_be_on_disk(held_.front()))) {
      out.push_back(std::move(held_.front()));
      held_.pop_front();
    }
    return out;
  }

  std::deque<event> held_;
  bool is_asking_ = false;
};

}  // namespace regatta
