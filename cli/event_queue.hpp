// SPDX-License-Identifier: Apache-2.0
/// \file
/// EVENT QUEUE: from actors to the thread that owns the terminal. Never blocks whoever pushes; deltas are dropped when
/// the reader is far behind (a stopped terminal), facts never.
#pragma once

#include "messages/event.hpp"
#include "messages/race_control.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

namespace regatta::cli {

/// The coordinator ended although nobody asked it to.
struct coordinator_lost {
  std::string why;
};
using race_news = std::variant<event, race_closed, coordinator_lost>;

class event_queue {
public:
  event_queue();
  event_queue(const event_queue&) = delete;
  event_queue& operator=(const event_queue&) = delete;
  ~event_queue();

  void push(race_news x);
  /// All that is there.
  std::vector<race_news> take();
  /// Readable when there is something to take; -1 if the system had no descriptor left.
  int fd() const { return fd_; }

private:
  /// About 20 s of deltas of 100 streams at 20 ms each.
  static constexpr std::size_t most_waiting_with_deltas = 100'000;

  std::mutex mutex_;
  std::deque<race_news> waiting_;
  int fd_;
};

}  // namespace regatta::cli
