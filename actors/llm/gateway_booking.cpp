// SPDX-License-Identifier: Apache-2.0
// GATEWAY RULES: what is asked of the ledger, and what its answers mean.
#include "actors/llm/gateway_rules.hpp"
#include "actors/llm/prices.hpp"
#include "actors/llm/wire_request.hpp"
#include "messages/digest.hpp"

#include <utility>

namespace regatta {

std::uint32_t gateway_rules::next_try_number(const work_key& key) {
  auto& made = tries_made_[{key.race, key.worker}];
  if (made.round != key.round) {
    made = {key.round, {}};
  }
  return ++made.by_attempt[key.attempt];
}

open_call gateway_rules::opening_of(const provider_desk& desk, const llm_call& call) {
  const auto& ask = call.ask();
  const auto bound = bound_of(ask, desk.config);
  const auto* prices = prices_of(desk.config, ask.choice.model);
  open_call out;
  out.race = ask.race;
  out.worker = ask.worker;
  out.round = ask.round;
  out.attempt = ask.attempt;
  out.try_number = next_try_number(call.key());
  out.choice = ask.choice;
  out.choice.max_output_tokens = output_cap_of(ask.choice, desk.config);
  out.wire = to_string(desk.config.kind);
  out.prompt_digest = sha256_hex(ask.system + std::string(1, '\0') + ask.user);
  out.reserved_tokens = bound.tokens();
  out.reserved = bound.price;
  out.price_digest = price_digest(prices, desk.config.currency);
  out.race_budget = ask.budget;
  out.process_budget = terms_.process_budget;
  out.day_budget = terms_.day_budget;
  return out;
}

charge gateway_rules::book(provider_desk& desk, llm_call& call, const try_result& result, try_reach reach) {
  const auto& ask = call.ask();
  const auto bound = bound_of(ask, desk.config);
  const auto out = charge_of(reach, result.usage, prices_of(desk.config, ask.choice.model), bound);
  call.add(out);
  const auto is_limited = [](const spending_limits& x) { return x.money != 0 || x.tokens != 0; };
  const bool has_budget = is_limited(ask.budget) || is_limited(terms_.process_budget) || is_limited(terms_.day_budget);
  if (!out.is_above_bound || desk.player) {
    return out;
  }
  const auto what = "it reported " + std::to_string(out.tokens) + " tokens for a call that could use " +
                    std::to_string(bound.tokens()) + " at most (" + to_string(call.key()) + ")";
  if (has_budget && desk.stopped.empty()) {
    // One lie may be repeated by each of a thousand workers: no budget can be kept with such a provider.
    desk.stopped = desk.config.name + " is stopped: " + what + ", so no budget can be kept with it";
  } else if (!has_budget && !std::exchange(desk.has_warned, true)) {
    call.warn(desk.config.name + " is not to be trusted with a budget: " + what + ", which is booked in full");
  }
  return out;
}

void gateway_rules::ask_close(llm_call& call, const try_result& result, const charge& cost, bool is_answer,
                              moment now) {
  close_call out;
  out.ended = call.ended(result, now);
  out.ended.cost = cost.cost;
  out.ended.basis = cost.basis;
  out.ended.charged_tokens = cost.tokens;
  out.ended.lost_in_flight = 0;
  out.is_answer = is_answer;
  out.call = call.row();
  effects_.emplace_back(ledger_.ask(call.try_id(), std::move(out)));
  by_try_[call.try_id()] = call.id();
}

void gateway_rules::on_opened(booking_id id, const call_opened& answer, moment now) {
  const bool is_awaited = ledger_.is_awaited(id);
  if (auto closing = ledger_.on_opened(id, answer.call)) {
    effects_.emplace_back(std::move(*closing));
  }
  auto* call = by_try(id);
  if (!is_awaited || call == nullptr || call->state() != call_state::opening) {
    return;
  }
  call->hold("");
  call->add_lost(answer.lost_in_flight, answer.lost_cost);
  if (answer.known) {
    end_known(*call, answer, now);
    return;
  }
  call->set_row(answer.call);
  auto& desk = desk_of(*call);
  start(desk, *call, now);
  tell_progress(*call, now);
  if (desk.player) {
    play(desk, now);
  }
}

/// A former process has paid for it.
void gateway_rules::end_known(llm_call& call, const call_opened& answer, moment now) {
  auto& desk = desk_of(call);
  auto known = *answer.known;
  known.race = call.key().race;
  known.worker = call.key().worker;
  known.round = call.key().round;
  known.attempt = call.key().attempt;
  known.is_known = true;
  known.cost = add_money(known.cost, answer.lost_cost);
  known.lost_in_flight += answer.lost_in_flight;
  const auto id = call.id();
  last_ended_[{known.race, known.worker}] = known;
  effects_.emplace_back(std::move(known));
  desk.queue.on_ended(id);
  by_try_.erase(call.try_id());
  by_key_.erase(call.key());
  calls_.erase(id);
  close_withdrawals(id);
  pump(desk, now);
}

void gateway_rules::on_closed(booking_id id, moment now) {
  const bool is_awaited = ledger_.is_awaited(id);
  ledger_.on_closed(id);
  has_room_ = true;
  auto* call = by_try(id);
  if (!is_awaited || call == nullptr || call->state() != call_state::closing) {
    return;
  }
  call->hold("");
  by_try_.erase(id);
  auto& desk = desk_of(*call);
  follow(*call, now);
  pump(desk, now);
}

void gateway_rules::on_ledger_error(booking_id id, const caf::error& why, moment now) {
  const bool is_awaited = ledger_.is_awaited(id);
  auto refusal = ledger_.on_error(id, why, now.at);
  auto* call = by_try(id);
  if (!is_awaited || call == nullptr) {
    return;
  }
  if (!refusal.is_final) {
    call->hold(std::move(refusal.why));
    tell_progress(*call, now);
    return;
  }
  auto& desk = desk_of(*call);
  try_result result;
  result.outcome = refusal.is_spent ? llm_outcome::budget_exhausted : llm_outcome::transport_failed;
  result.error = refusal.is_spent ? refusal.why : "the ledger fails: " + refusal.why;
  end(*call, std::move(result), now);
  pump(desk, now);
}

}  // namespace regatta
