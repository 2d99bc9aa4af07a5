// SPDX-License-Identifier: Apache-2.0
#include "cli/event_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <utility>

namespace regatta::cli {

event_queue::event_queue() : fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

event_queue::~event_queue() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void event_queue::push(race_news x) {
  {
    const std::lock_guard lock{mutex_};
    const auto* news = std::get_if<event>(&x);
    const bool is_delta = news != nullptr && std::holds_alternative<reply_delta>(news->body);
    if (is_delta && waiting_.size() >= most_waiting_with_deltas) {
      return;
    }
    waiting_.push_back(std::move(x));
  }
  const std::uint64_t one = 1;
  // Fails only if the counter is full, and then the reader is awake already.
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

std::vector<race_news> event_queue::take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
  const std::lock_guard lock{mutex_};
  std::vector<race_news> out{std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end())};
  waiting_.clear();
  return out;
}

}  // namespace regatta::cli
