// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/provider_queue.hpp"

#include <algorithm>
#include <utility>

namespace regatta {

namespace {

const std::string own_limit = "our own limit per minute";

}  // namespace

bool provider_queue::may_send(time_point now) {
  const bool is_closed = is_doubtful_ && (now < closed_until_ || probe_);
  if (waiting_.empty() || is_closed || now < rest_until_ || running_.size() >= std::max(concurrency_, 1U)) {
    return false;
  }
  rate_until_ = window_.free_at(waiting_.front().second, now);
  return rate_until_ <= now;
}

std::optional<call_id> provider_queue::next(time_point now) {
  if (!may_send(now)) {
    return std::nullopt;
  }
  const auto [id, tokens] = waiting_.front();
  waiting_.pop_front();
  running_.insert(id);
  window_.take(tokens, now);
  if (is_doubtful_) {
    probe_ = id;
  }
  return id;
}

void provider_queue::on_ended(call_id id) {
  running_.erase(id);
  std::erase_if(waiting_, [&](const auto& x) { return x.first == id; });
  if (probe_ == id) {
    probe_.reset();
  }
}

void provider_queue::on_success() {
  is_doubtful_ = false;
  is_heard_ = true;
  probe_.reset();
  streak_ = 0;
  down_since_.reset();
}

void provider_queue::count_failure(time_point started, time_point now) {
  streak_ = streak_for(started);
  failed_at_ = now;
  down_since_ = down_since_.value_or(now);
}

void provider_queue::throttle(time_point until, time_point started, time_point now, std::string why) {
  count_failure(started, now);
  closed_until_ = is_doubtful_ ? std::max(closed_until_, until) : until;
  is_doubtful_ = true;
  why_ = std::move(why);
}

void provider_queue::on_failure(time_point started, time_point now) {
  count_failure(started, now);
}

void provider_queue::rest(time_point until, std::string why) {
  rest_until_ = std::max(rest_until_, until);
  rest_why_ = std::move(why);
}

provider_queue::time_point provider_queue::closed_until(time_point now) const {
  auto out = std::max(rest_until_, waiting_.empty() ? time_point{} : rate_until_);
  if (is_doubtful_) {
    out = std::max(out, closed_until_);
  }
  return std::max(out, now);
}

const std::string& provider_queue::why(time_point now) const {
  if (is_doubtful_ && closed_until_ >= std::max({rest_until_, rate_until_, now})) {
    return why_;
  }
  return rest_until_ > std::max(rate_until_, now) ? rest_why_ : rate_until_ > now ? own_limit : why_;
}

}  // namespace regatta
