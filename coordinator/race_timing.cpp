// SPDX-License-Identifier: Apache-2.0
// The timing of a winner: after everything else has stopped, and never at the cost of the win.
#include "coordinator/race_rules.hpp"
#include "messages/limits.hpp"

#include <algorithm>

namespace regatta {

void race_rules::keep_for_timing(const winner& msg, const node_id& node) {
  const auto& spec = config_.spec;
  if (!spec.judging.wants_timing) {
    return;
  }
  run order;
  order.race = spec.race;
  order.worker = msg.worker;
  order.round = msg.round;
  order.attempt = msg.attempt;
  order.code = msg.code;
  order.digest = msg.digest;
  order.problem = spec.problem.text;
  order.device = spec.device;
  order.limits = spec.limits;
  order.limits.wall = timing_wall;
  order.accept = accept_rule::verified;
  order.stage = spec.stage.name;
  order.judging = spec.judging;
  order.is_timing = true;
  // On whatever it won, if that is still there.
  timing_order_ = node_order{node, std::move(order)};
}

bool race_rules::begin_timing(time_point now) {
  if (!timing_order_) {
    return false;
  }
  if (live_nodes_.empty()) {
    ended_.not_timed = "no node is left";
    return false;
  }
  // A winner on record (a race taken up again) never had a node in this process.
  if (std::ranges::find(live_nodes_, timing_order_->node) == live_nodes_.end()) {
    timing_order_->node = live_nodes_.front();
  }
  phase_ = phase::timing;
  quiet_at_ = now;
  timing_until_ = now + timing_timeout;
  effects_.emplace_back(*timing_order_);
  return true;
}

void race_rules::on_run_ended(const run_ended& msg, time_point now) {
  if (phase_ != phase::timing) {
    return;
  }
  const auto& order = std::get<run>(timing_order_->body);
  if (msg.worker != order.worker || msg.round != order.round || msg.attempt != order.attempt) {
    return;
  }
  const auto& result = msg.result;
  const bool is_done = result.outcome == outcome::exited && !result.timing_record.empty();
  const auto why = result.reason.empty() ? to_string(result.outcome) : result.reason;
  end_timing(result.timing_record, is_done ? "" : why, now);
}

void race_rules::on_timing_refused(const caf::error& why, time_point now) {
  // After a time-out it may run all the same: its end is waited for.
  if (phase_ == phase::timing && code_of(why) != ec::reply_timeout) {
    end_timing({}, describe(why), now);
  }
}

/// Its tree is gone, or its node is: nothing is left to wait for.
void race_rules::end_timing(std::string record, std::string why, time_point now) {
  ended_.timing = std::move(record);
  unquiet_.erase(timing_order_->node);
  if (ended_.not_timed.empty()) {
    ended_.not_timed = std::move(why);
  }
  finish(now);
}

void race_rules::stop_timing(std::string why, time_point now) {
  if (!ended_.not_timed.empty()) {
    return;
  }
  ended_.not_timed = std::move(why);
  timing_until_ = now + quiet_timeout;
  unquiet_.insert(timing_order_->node);  // Named, if it does not confirm.
  effects_.emplace_back(node_order{timing_order_->node, cancel{config_.spec.race}});
}

}  // namespace regatta
