// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/provider_queue.hpp"

#include <algorithm>
#include <utility>

namespace regatta {

std::optional<call_id> provider_queue::next(time_point now) {
  const bool is_closed = is_doubtful_ && (now < closed_until_ || probe_);
  if (waiting_.empty() || is_closed || running_.size() >= std::max(concurrency_, 1U)) {
    return std::nullopt;
  }
  const auto id = waiting_.front();
  waiting_.pop_front();
  running_.insert(id);
  if (is_doubtful_) {
    probe_ = id;
  }
  return id;
}

void provider_queue::on_ended(call_id id) {
  running_.erase(id);
  std::erase(waiting_, id);
  if (probe_ == id) {
    probe_.reset();
  }
}

void provider_queue::on_success() {
  is_doubtful_ = false;
  probe_.reset();
  streak_ = 0;
}

void provider_queue::throttle(time_point until, time_point started, time_point now, std::string why) {
  streak_ = streak_for(started);
  closed_until_ = is_doubtful_ ? std::max(closed_until_, until) : until;
  is_doubtful_ = true;
  throttled_at_ = now;
  why_ = std::move(why);
}

}  // namespace regatta
