// SPDX-License-Identifier: Apache-2.0
/// \file
/// PROVIDER QUEUE: whose call goes out next to one provider: first come, first served, within its concurrency, its
/// requests and tokens per minute, and its one shared back-off. Pure.
///
///   open --throttle--> closed until a time --> one call as a probe --success--> open
///    |                       ^                        |
///    |                       +------ throttle --------+
///    +--`down_after` failures in a row: down, which is the same with a name for users
#pragma once

#include "actors/llm/rate_window.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

namespace regatta {

using call_id = std::uint64_t;

class provider_queue {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// So many failures in a row are no longer this call's or that one's own bad luck. Judgement.
  static constexpr std::uint32_t down_after = 3;

  explicit provider_queue(std::uint32_t concurrency, std::uint32_t requests_per_minute = 0,
                          std::uint64_t tokens_per_minute = 0)
      : concurrency_{concurrency}, window_{requests_per_minute, tokens_per_minute} {}

  /// `tokens`: the most that the call can use.
  void push(call_id id, std::uint64_t tokens = 0) { waiting_.emplace_back(id, tokens); }
  /// A call that waits out a back-off keeps its place.
  void push_front(call_id id, std::uint64_t tokens = 0) { waiting_.emplace_front(id, tokens); }
  /// The next call that may start now; it counts as running until `on_ended`.
  std::optional<call_id> next(time_point now);
  /// Gone from wherever it was.
  void on_ended(call_id id);
  /// The provider answered one call well: whatever was wrong is over.
  void on_success();
  /// `started`: when the refused call was sent. Refusals of calls that were under way already when the back-off began
  /// make the streak no longer.
  void throttle(time_point until, time_point started, time_point now, std::string why);
  /// A failure that may be the call's own: the streak grows, the queue stays as it is.
  void on_failure(time_point started, time_point now);
  /// What `throttle` and `on_failure` would count for a call sent then.
  std::uint32_t streak_for(time_point started) const { return started >= failed_at_ ? streak_ + 1 : streak_; }
  /// A good answer said that nothing is left until then: nothing goes out, and no probe is needed after.
  void rest(time_point until, std::string why);
  /// A limit was told, so it is not down.
  void on_limit() { down_since_.reset(); }

  bool is_throttled(time_point now) const { return closed_until(now) > now || (is_doubtful_ && probe_.has_value()); }
  /// When the next call may go out, as far as is known.
  time_point closed_until(time_point now) const;
  const std::string& why(time_point now) const;
  std::size_t running() const { return running_.size(); }
  std::uint32_t streak() const { return streak_; }
  /// It has answered well before, so what is wrong now is not the configuration.
  bool is_heard() const { return is_heard_; }
  /// Since the first of the failures in a row. Empty: it is up, as far as is known.
  std::optional<time_point> down_since() const { return down_since_; }

private:
  void count_failure(time_point started, time_point now);
  bool may_send(time_point now);

  std::uint32_t concurrency_;
  rate_window window_;
  std::deque<std::pair<call_id, std::uint64_t>> waiting_;
  std::unordered_set<call_id> running_;
  std::optional<call_id> probe_;
  bool is_doubtful_ = false;
  bool is_heard_ = false;
  time_point closed_until_{};
  time_point failed_at_ = time_point::min();
  std::uint32_t streak_ = 0;
  std::optional<time_point> down_since_;
  std::string why_;
  time_point rest_until_{};
  std::string rest_why_;
  time_point rate_until_{};
};

}  // namespace regatta
