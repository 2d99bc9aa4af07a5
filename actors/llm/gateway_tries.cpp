// SPDX-License-Identifier: Apache-2.0
// GATEWAY RULES: from the queue through a call's tries to its end.
#include "actors/llm/gateway_rules.hpp"
#include "actors/llm/prices.hpp"
#include "actors/llm/retry_policy.hpp"
#include "actors/llm/wire_request.hpp"

#include <algorithm>

namespace regatta {

namespace {

retry_limits limits_of(const provider_config& x) {
  return {x.tries, x.backoff_first, x.backoff_cap, x.rate_limit_patience, x.down_patience};
}

bool is_any(const spending_limits& x) {
  return x.money != 0 || x.tokens != 0;
}

}  // namespace

void gateway_rules::enqueue(llm_call& call, bool is_first) {
  auto& desk = desk_of(call);
  const auto tokens = desk.config.tokens_per_minute == 0 ? 0 : bound_of(call.ask(), desk.config).tokens();
  is_first ? desk.queue.push_front(call.id(), tokens) : desk.queue.push(call.id(), tokens);
}

void gateway_rules::pump(provider_desk& desk, moment now) {
  while (const auto id = desk.queue.next(now.at)) {
    const auto it = calls_.find(*id);
    if (it == calls_.end()) {
      desk.queue.on_ended(*id);
    } else if (auto answer = denial(desk, it->second, now)) {
      desk.queue.on_ended(*id);
      end(it->second, std::move(*answer), now);
    } else {
      begin_try(desk, it->second, now);
      tell_progress(it->second, now);
    }
  }
}

/// Why it need not go out at all.
std::optional<try_result> gateway_rules::denial(const provider_desk& desk, const llm_call& call, moment now) {
  const auto& choice = call.ask().choice;
  const auto& budget = call.ask().budget;
  const bool has_money = budget.money != 0 || terms_.process_budget.money != 0 || terms_.day_budget.money != 0;
  const bool has_budget = has_money || is_any(budget) || is_any(terms_.process_budget) || is_any(terms_.day_budget);
  try_result out;
  out.outcome = llm_outcome::provider_stopped;
  out.is_permanent = true;
  if (!desk.stopped.empty()) {
    out.error = desk.stopped;
  } else if (!desk.player && has_money && prices_of(desk.config, choice.model) == nullptr) {
    out.error = "a money budget needs the prices of model \"" + choice.model + "\": [providers." + desk.config.name +
                ".prices.\"" + choice.model + "\"] is missing";
  } else if (!desk.player && has_budget && bound_of(call.ask(), desk.config).output_tokens == 0) {
    out.error = "a budget needs an output limit: max_output_tokens of provider " + desk.config.name + " is 0";
  } else {
    return desk.player ? std::nullopt : gone_.answer_for(desk.config.name, choice.model, call.id(), now.at);
  }
  return out;
}

/// A provider that never answered is given up after as many failures as a call has tries; one that did is waited for.
bool gateway_rules::gives_up(const provider_desk& desk, const llm_call& call, moment now) const {
  const auto since = desk.queue.down_since();
  if (!since || !desk.queue.is_throttled(now.at)) {
    return false;
  }
  return desk.queue.is_heard() ? call.waited_since(*since, now.at) >= desk.config.down_patience
                               : desk.queue.streak() >= desk.config.tries;
}

void gateway_rules::begin_try(provider_desk& desk, llm_call& call, moment now) {
  const auto try_id = ++last_id_;
  by_try_[try_id] = call.id();
  call.open(try_id);
  if (!terms_.has_ledger) {
    start(desk, call, now);
    return;
  }
  effects_.emplace_back(ledger_.ask(try_id, opening_of(desk, call)));
}

void gateway_rules::start(provider_desk& desk, llm_call& call, moment now) {
  const auto try_id = call.try_id();
  call.start_try(try_id, now);
  const auto& ask = call.ask();
  if (desk.player) {
    desk.player->ask(call.key(), ask.workers, now.at);
  } else if (call.http() != nullptr) {
    effects_.emplace_back(begin_exchange{try_id, make_request(ask, desk.config)});
  } else if (desk.config.kind == provider_kind::command) {
    const auto input = ask.system.empty() ? ask.user : ask.system + "\n\n" + ask.user;
    effects_.emplace_back(
        begin_program{try_id, {desk.config.argv, desk.config.pass_environment, desk.config.working_dir, input}});
  }
}

void gateway_rules::stop(llm_call& call, std::optional<llm_outcome> as, std::string why, moment now) {
  const bool was_running = call.state() == call_state::running;
  call.stop(as, std::move(why), now.at);
  if (!was_running) {
    return;
  }
  if (call.http() != nullptr) {
    effects_.emplace_back(stop_exchange{call.try_id()});
  } else if (call.provider().kind == provider_kind::command) {
    effects_.emplace_back(stop_program{call.try_id()});
  }
}

void gateway_rules::end_try(llm_call& call, try_result result, try_reach reach, moment now) {
  auto& desk = desk_of(call);
  by_try_.erase(call.try_id());
  desk.queue.on_ended(call.id());
  gone_.on_ended(desk.config.name, call.ask().choice.model, result, now.at);
  const auto cost = book(desk, call, result, reach);
  auto next = decide(call, result, reach, now);
  if (!terms_.has_ledger) {
    call.close(std::move(result), std::move(next));
    follow(call, now);
  } else {
    ask_close(call, result, cost, !next.is_again, now);
    const bool is_withdrawn = result.outcome == llm_outcome::cancelled;
    call.close(std::move(result), std::move(next));
    if (is_withdrawn) {
      ledger_.abandon(call.try_id());
      follow(call, now);
    } else {
      tell_progress(call, now);
    }
  }
  end_waiting(desk, now);
  pump(desk, now);
}

retry_decision gateway_rules::decide(llm_call& call, const try_result& result, try_reach reach, moment now) {
  auto& desk = desk_of(call);
  auto& queue = desk.queue;
  if (desk.player) {
    // A recorded failure is what was recorded; playing it again would be the same.
    return {};
  }
  failed_try failed;
  failed.outcome = result.outcome;
  failed.http_status = result.http_status;
  failed.is_permanent = result.is_permanent;
  failed.headers = call.http() == nullptr ? nullptr : &call.http()->headers();
  failed.counted = call.counted_tries();
  failed.streak = std::max(queue.streak_for(call.sent_at()), call.throttles() + 1);
  failed.throttled = call.throttled();
  failed.down = queue.down_since() ? call.waited_since(*queue.down_since(), now.at) : std::chrono::milliseconds{0};
  failed.is_unreachable = result.outcome == llm_outcome::transport_failed && reach == try_reach::not_asked;
  failed.is_heard = queue.is_heard();
  failed.provider = desk.config.name;
  failed.utc_s = now.utc_us / 1'000'000;
  failed.seed = terms_.seed ^ (call.try_id() * 0x9E3779B97F4A7C15U);
  auto next = decide_retry(failed, limits_of(desk.config));
  const bool is_trouble =
      call.http() != nullptr && (next.is_again || result.outcome == llm_outcome::transport_failed ||
                                 result.outcome == llm_outcome::overloaded || result.outcome == llm_outcome::timed_out);
  if (next.is_shared) {
    queue.throttle(now.at + next.wait, call.sent_at(), now.at, next.why);
  } else if (is_trouble && !next.is_again && failed.streak >= provider_queue::down_after) {
    // This call is over; the others need not each find out.
    const auto wait = std::min(desk.config.backoff_cap, desk.config.backoff_first * failed.streak);
    queue.throttle(now.at + wait, call.sent_at(), now.at,
                   desk.config.name + " is down: " + to_string(result.outcome) + ", " + std::to_string(failed.streak) +
                       " failures in a row; probing again");
  } else if (is_trouble) {
    queue.on_failure(call.sent_at(), now.at);
  }
  if (result.outcome == llm_outcome::rate_limited) {
    queue.on_limit();
  }
  return next;
}

/// The ended try is booked, or need not be.
void gateway_rules::follow(llm_call& call, moment now) {
  const auto next = call.next_step();
  if (!next.is_again) {
    end(call, call.take_pending(), now);
    return;
  }
  if (next.is_shared) {
    enqueue(call, true);
  }
  call.retry(next.is_shared, next.is_counted, next.wait, next.why, now.at);
  tell_progress(call, now);
}

void gateway_rules::end(llm_call& call, try_result result, moment now) {
  if (auto delta = call.take_delta(now.at, true)) {
    effects_.emplace_back(std::move(*delta));
  }
  const auto id = call.id();
  auto ended = call.ended(std::move(result), now);
  // What was cancelled may be asked again, by the worker's next start.
  if (ended.outcome != llm_outcome::cancelled && !withdrawn_races_.contains(ended.race)) {
    last_ended_[{ended.race, ended.worker}] = ended;
  }
  desk_of(call).queue.on_ended(id);
  gone_.on_gone(id);
  effects_.emplace_back(std::move(ended));
  by_try_.erase(call.try_id());
  by_key_.erase(call.key());
  calls_.erase(id);
  close_withdrawals(id);
}

/// A provider that was stopped just now has nothing more to say to those who wait for it.
void gateway_rules::end_waiting(provider_desk& desk, moment now) {
  if (desk.stopped.empty()) {
    return;
  }
  std::vector<call_id> waiting;
  for (const auto& [id, call] : calls_) {
    const bool is_waiting = call.state() == call_state::queued || call.state() == call_state::backing_off;
    if (is_waiting && call.provider().name == desk.config.name) {
      waiting.push_back(id);
    }
  }
  for (const auto id : waiting) {
    auto& call = calls_.at(id);
    if (auto answer = denial(desk, call, now)) {
      end(call, std::move(*answer), now);
    }
  }
}

}  // namespace regatta
