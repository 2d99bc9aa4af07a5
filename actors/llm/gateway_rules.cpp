// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/gateway_rules.hpp"

#include "actors/llm/retry_policy.hpp"

#include <algorithm>

namespace regatta {

gateway_rules::gateway_rules(const std::vector<provider_config>& providers,
                             const std::map<std::string, caf::expected<recording>>& recordings, gateway_terms terms)
    : terms_{terms} {
  for (const auto& config : providers) {
    provider_desk desk{config, provider_queue{config.concurrency, config.requests_per_minute, config.tokens_per_minute},
                       nullptr, "", ""};
    if (config.kind == provider_kind::replay) {
      const auto it = recordings.find(config.name);
      if (it != recordings.end() && it->second) {
        desk.player = std::make_unique<replay_player>(*it->second, config.recording, config.ordered);
      } else {
        desk.broken = it == recordings.end() ? "no recording was read" : text_of(it->second.error());
      }
    }
    desks_.insert_or_assign(config.name, std::move(desk));
  }
}

caf::expected<accepted> gateway_rules::on_prompt(const prompt& ask, moment now) {
  const auto it = desks_.find(ask.choice.provider);
  if (it == desks_.end()) {
    std::string known;
    for (const auto& [name, desk] : desks_) {
      known += (known.empty() ? "" : ", ") + name;
    }
    return fail(ec::unknown_provider, "provider: got \"" + ask.choice.provider + "\", configured: " + known);
  }
  auto& desk = it->second;
  if (!desk.broken.empty()) {
    return fail(ec::invalid_config, desk.broken);
  }
  if (is_leaving_) {
    return fail(ec::refused, "the LLM gateway is leaving");
  }
  if (withdrawn_races_.contains(ask.race)) {
    return fail(ec::refused, "race " + ask.race.text + " is withdrawn");
  }
  const work_key key{ask.race, ask.worker, ask.round, ask.attempt};
  if (is_known(key)) {
    return accepted{desk.config.name};
  }
  const auto id = ++last_id_;
  auto& call = calls_.try_emplace(id, id, ask, desk.config, now).first->second;
  by_key_[key] = id;
  for (auto& [name, other] : desks_) {
    if (other.player && &other != &desk) {
      other.player->forget(ask.race, ask.worker);
    }
  }
  if (auto answer = denial(desk, call, now)) {
    end(call, std::move(*answer), now);
  } else if (desk.player) {
    begin_try(desk, call, now);
    play(desk, now);
  } else {
    enqueue(call, false);
    pump(desk, now);
  }
  if (const auto open = calls_.find(id); open != calls_.end()) {
    tell_progress(open->second, now);
  }
  return accepted{desk.config.name};
}

bool gateway_rules::is_known(const work_key& key) {
  if (by_key_.contains(key)) {
    return true;
  }
  const auto it = last_ended_.find({key.race, key.worker});
  if (it == last_ended_.end() || it->second.round != key.round || it->second.attempt != key.attempt) {
    return false;
  }
  effects_.emplace_back(it->second);
  return true;
}

void gateway_rules::play(provider_desk& desk, moment now) {
  for (auto& step : desk.player->advance(now.at)) {
    const auto it = by_key_.find(step.key);
    if (it == by_key_.end()) {
      continue;
    }
    auto& call = calls_.at(it->second);
    if (!step.text.empty()) {
      call.append(step.text, now.at);
      read(call, true, now);
    }
    if (step.end) {
      if (is_final(step.end->outcome)) {
        desk.player->forget(step.key.race, step.key.worker);
      }
      // Nobody bills for a recording; where it tells its usage, budgets can be tried with it.
      const bool has_usage = step.end->usage.input_tokens && step.end->usage.output_tokens;
      end_try(call, std::move(*step.end), has_usage ? try_reach::whole_reply : try_reach::not_asked, now);
    }
  }
}

llm_call* gateway_rules::by_try(std::uint64_t try_id) {
  const auto it = by_try_.find(try_id);
  return it == by_try_.end() ? nullptr : &calls_.at(it->second);
}

void gateway_rules::on_exchange(exchange_event event, moment now) {
  auto* call = by_try(std::visit([](const auto& x) { return x.id; }, event));
  if (call == nullptr || !call->is_out() || call->http() == nullptr) {
    return;
  }
  auto& http = *call->http();
  auto& desk = desk_of(*call);
  if (const auto* head = std::get_if<exchange_head>(&event)) {
    http.on_head(*head);
    if (head->status >= 200 && head->status < 300) {
      desk.queue.on_success();
      if (const auto rest = exhausted_reset(head->headers, now.utc_us / 1'000'000)) {
        desk.queue.rest(now.at + std::min(*rest, desk.config.backoff_cap),
                        "the provider's limit per minute is used up");
      }
      pump(desk, now);
    }
  } else if (const auto* body = std::get_if<exchange_body>(&event)) {
    const bool is_alive = http.on_body(body->bytes);
    read(*call, is_alive, now);
    if (http.has_failed() && call->state() == call_state::running) {
      stop(*call, std::nullopt, "", now);
    }
  } else {
    const auto& end = std::get<exchange_ended>(event);
    auto result = http.on_end(end);
    const auto reach = reach_of(result.outcome, result.http_status, end.how, http.is_settled());
    end_try(*call, call->conclude(std::move(result)), reach, now);
  }
}

void gateway_rules::on_program(program_event event, moment now) {
  auto* call = by_try(std::visit([](const auto& x) { return x.id; }, event));
  if (call == nullptr || !call->is_out()) {
    return;
  }
  if (const auto* output = std::get_if<program_output>(&event)) {
    call->append(output->bytes, now.at);
    read(*call, true, now);
  } else {
    const auto& end = std::get<program_ended>(event);
    end_try(*call, call->conclude_program(end), reach_of(end.how), now);
  }
}

void gateway_rules::read(llm_call& call, bool is_alive, moment now) {
  if (is_alive) {
    call.on_life(now.at);
  }
  call.note_text(now.at);
  if (auto delta = call.take_delta(now.at, false)) {
    effects_.emplace_back(std::move(*delta));
  }
  tell_progress(call, now);
}

void gateway_rules::on_tick(moment now) {
  for (auto& ask : ledger_.due(now.at, std::exchange(has_room_, false))) {
    effects_.emplace_back(std::move(ask));
  }
  for (auto& [name, desk] : desks_) {
    if (desk.player) {
      play(desk, now);
    }
  }
  std::vector<call_id> due;
  for (; !due_.empty() && due_.top().first <= now.at; due_.pop()) {
    const auto it = calls_.find(due_.top().second);
    if (it != calls_.end() && it->second.disarm(due_.top().first)) {
      due.push_back(it->first);
    }
  }
  for (const auto id : due) {
    if (const auto it = calls_.find(id); it != calls_.end()) {
      watch(it->second, now);
    }
  }
  for (auto& [name, desk] : desks_) {
    pump(desk, now);
  }
}

void gateway_rules::watch(llm_call& call, moment now) {
  std::string why;
  auto& desk = desk_of(call);
  if (const auto outcome = call.overdue(now.at, why)) {
    stop(call, outcome, std::move(why), now);
  } else if (call.is_lingering(now.at)) {
    stop(call, std::nullopt, "", now);
  } else if (call.is_stuck(now.at)) {
    try_result lost;
    lost.outcome = llm_outcome::timed_out;
    lost.error = "told to stop, and no end came";
    return end_try(call, call.conclude(std::move(lost)), try_reach::may_have_run, now);
  } else if (call.is_due(now.at)) {
    call.requeue();
    enqueue(call, true);
  } else if (call.state() == call_state::queued && gives_up(desk, call, now)) {
    try_result away;
    away.error = desk.queue.why(now.at);
    return end(call, std::move(away), now);
  }
  read(call, false, now);
}

void gateway_rules::tell_progress(llm_call& call, moment now) {
  const auto& desk = desk_of(call);
  const auto note = desk.player && call.state() == call_state::running ? desk.player->waits_for(call.key()) : "";
  if (auto progress = call.take_progress(now, desk.queue, note)) {
    effects_.emplace_back(std::move(*progress));
  }
  const auto at = std::max(call.due(), now.at + std::chrono::milliseconds{1});
  if (call.arm(at)) {
    due_.emplace(at, call.id());
  }
}

}  // namespace regatta
