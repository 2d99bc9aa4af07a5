// SPDX-License-Identifier: Apache-2.0
/// \file
/// PROVIDER QUEUE: whose call goes out next to one provider: first come, first served, within its concurrency and
/// its one shared back-off. Pure.
///
///   open --throttle--> closed until a time --> one call as a probe --success--> open
///                            ^                        |
///                            +------ throttle --------+
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>

namespace regatta {

using call_id = std::uint64_t;

class provider_queue {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit provider_queue(std::uint32_t concurrency) : concurrency_{concurrency} {}

  void push(call_id id) { waiting_.push_back(id); }
  /// A call that waits out a back-off keeps its place.
  void push_front(call_id id) { waiting_.push_front(id); }
  /// The next call that may start now; it counts as running until `on_ended`.
  std::optional<call_id> next(time_point now);
  /// Gone from wherever it was.
  void on_ended(call_id id);
  /// The provider answered one call well: whatever was wrong is over.
  void on_success();
  /// `started`: when the refused call was sent. Refusals of calls that were under way already when the back-off began
  /// make the streak no longer.
  void throttle(time_point until, time_point started, time_point now, std::string why);
  /// What `throttle` would count for a call sent then.
  std::uint32_t streak_for(time_point started) const { return started >= throttled_at_ ? streak_ + 1 : streak_; }

  bool is_throttled(time_point now) const { return is_doubtful_ && (now < closed_until_ || probe_.has_value()); }
  time_point closed_until() const { return closed_until_; }
  const std::string& why() const { return why_; }
  std::size_t running() const { return running_.size(); }

private:
  std::uint32_t concurrency_;
  std::deque<call_id> waiting_;
  std::unordered_set<call_id> running_;
  std::optional<call_id> probe_;
  bool is_doubtful_ = false;
  time_point closed_until_{};
  time_point throttled_at_ = time_point::min();
  std::uint32_t streak_ = 0;
  std::string why_;
};

}  // namespace regatta
