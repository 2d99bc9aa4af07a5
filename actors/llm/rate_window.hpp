// SPDX-License-Identifier: Apache-2.0
/// \file
/// RATE WINDOW: at most so many requests and tokens in any 60 seconds, by the times at which calls went out. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

namespace regatta {

class rate_window {
public:
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds width{60};

  /// 0: no limit.
  rate_window(std::uint32_t requests, std::uint64_t tokens) : requests_{requests}, tokens_{tokens} {}

  /// From when on a call of so many tokens may go out; `now` or earlier: at once. A call that is larger than the
  /// limit goes out alone: it would wait for ever.
  time_point free_at(std::uint64_t tokens, time_point now);
  void take(std::uint64_t tokens, time_point now);
  bool is_limited() const { return requests_ != 0 || tokens_ != 0; }

private:
  struct entry {
    time_point at;
    std::uint64_t tokens = 0;
  };

  std::uint32_t requests_;
  std::uint64_t tokens_;
  std::deque<entry> taken_;
  std::uint64_t sum_ = 0;
};

}  // namespace regatta
