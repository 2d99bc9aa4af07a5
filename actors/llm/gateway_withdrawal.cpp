// SPDX-License-Identifier: Apache-2.0
// GATEWAY RULES: the end of a race's, or of one worker's, calls.
#include "actors/llm/gateway_rules.hpp"

namespace regatta {

namespace {

/// Late prompts of a race come within seconds of its end; a thousand races are days. Judgement.
constexpr std::size_t remembered_races = 1'024;

bool matches(const withdraw_prompts& msg, const race_id& race, const worker_id& worker) {
  return race == msg.race && (msg.worker.empty() || worker == msg.worker);
}

}  // namespace

void gateway_rules::on_withdraw(const withdraw_prompts& msg, std::uint64_t ticket, moment now) {
  forget_race(msg);
  withdrawal todo{ticket, msg.race, {}, 0};
  for (const auto& [id, call] : calls_) {
    if (matches(msg, call.key().race, call.key().worker)) {
      todo.open.insert(id);
    }
  }
  todo.calls = static_cast<std::uint32_t>(todo.open.size());
  const auto open = todo.open;
  withdrawals_.push_back(std::move(todo));
  for (const auto id : open) {
    withdraw_call(calls_.at(id), now);
  }
  close_withdrawals(0);
  for (auto& [name, desk] : desks_) {
    if (desk.player) {
      play(desk, now);
    }
    pump(desk, now);
  }
}

void gateway_rules::on_leave(moment now) {
  is_leaving_ = true;
  std::vector<call_id> open;
  for (const auto& [id, call] : calls_) {
    open.push_back(id);
  }
  for (const auto id : open) {
    if (const auto it = calls_.find(id); it != calls_.end()) {
      withdraw_call(it->second, now);
    }
  }
}

void gateway_rules::withdraw_call(llm_call& call, moment now) {
  const bool is_out = call.is_out();
  stop(call, llm_outcome::cancelled, "withdrawn", now);
  if (is_out) {
    if (desk_of(call).player) {
      end_try(call, call.conclude({}), try_reach::not_asked, now);
    }
    return;
  }
  // Where its try is being booked, that goes on without it.
  ledger_.abandon(call.try_id());
  end(call, call.conclude({}), now);
}

void gateway_rules::forget_race(const withdraw_prompts& msg) {
  if (msg.worker.empty() && withdrawn_races_.insert(msg.race).second) {
    withdrawn_order_.push_back(msg.race);
    if (withdrawn_order_.size() > remembered_races) {
      withdrawn_races_.erase(withdrawn_order_.front());
      withdrawn_order_.pop_front();
    }
  }
  std::erase_if(last_ended_, [&](const auto& x) { return matches(msg, x.first.first, x.first.second); });
  if (msg.worker.empty()) {
    std::erase_if(tries_made_, [&](const auto& x) { return x.first.first == msg.race; });
  }
  for (auto& [name, desk] : desks_) {
    if (desk.player && msg.worker.empty()) {
      desk.player->forget(msg.race);
    } else if (desk.player) {
      desk.player->forget(msg.race, msg.worker);
    }
  }
}

void gateway_rules::close_withdrawals(call_id ended) {
  std::erase_if(withdrawals_, [&](auto& x) {
    x.open.erase(ended);
    if (x.open.empty()) {
      effects_.emplace_back(withdrawal_done{x.ticket, {x.race, x.calls}});
    }
    return x.open.empty();
  });
}

}  // namespace regatta
