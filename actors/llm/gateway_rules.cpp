// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/gateway_rules.hpp"

#include "actors/llm/retry_policy.hpp"

#include <algorithm>
#include <type_traits>

namespace regatta {

namespace {

/// Late prompts of a race come within seconds of its end; a thousand races are days. Judgement.
constexpr std::size_t remembered_races = 1'024;

retry_limits limits_of(const provider_config& x) {
  return {x.tries, x.backoff_first, x.backoff_cap, x.rate_limit_patience};
}

bool matches(const withdraw_prompts& msg, const work_key& key) {
  return key.race == msg.race && (msg.worker.empty() || key.worker == msg.worker);
}

}  // namespace

gateway_rules::gateway_rules(std::vector<provider_config> providers,
                             const std::map<std::string, caf::expected<recording>>& recordings, std::uint64_t seed)
    : seed_{seed} {
  for (auto& config : providers) {
    provider_desk desk{config, provider_queue{config.concurrency}, nullptr, ""};
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
  if (desk.player) {
    start(desk, call, now);
    desk.player->ask(key, ask.workers, now.at);
    play(desk, now);
  } else {
    desk.queue.push(id);
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

void gateway_rules::pump(provider_desk& desk, moment now) {
  while (const auto id = desk.queue.next(now.at)) {
    if (const auto it = calls_.find(*id); it != calls_.end()) {
      start(desk, it->second, now);
      tell_progress(it->second, now);
    } else {
      desk.queue.on_ended(*id);
    }
  }
}

void gateway_rules::start(provider_desk& desk, llm_call& call, moment now) {
  const auto try_id = ++last_id_;
  call.start_try(try_id, now);
  by_try_[try_id] = call.id();
  const auto& ask = call.ask();
  if (call.http() != nullptr) {
    effects_.emplace_back(begin_exchange{try_id, make_request(ask, desk.config)});
  } else if (desk.config.kind == provider_kind::command) {
    const auto input = ask.system.empty() ? ask.user : ask.system + "\n\n" + ask.user;
    effects_.emplace_back(
        begin_program{try_id, {desk.config.argv, desk.config.pass_environment, desk.config.working_dir, input}});
  }
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
      end(call, std::move(*step.end), now);
    }
  }
}

llm_call* gateway_rules::running(std::uint64_t try_id) {
  const auto it = by_try_.find(try_id);
  return it == by_try_.end() ? nullptr : &calls_.at(it->second);
}

void gateway_rules::on_exchange(exchange_event event, moment now) {
  auto* call = running(std::visit([](const auto& x) { return x.id; }, event));
  if (call == nullptr) {
    return;
  }
  auto& http = *call->http();
  if (const auto* head = std::get_if<exchange_head>(&event)) {
    http.on_head(*head);
    if (head->status >= 200 && head->status < 300) {
      desk_of(*call).queue.on_success();
      pump(desk_of(*call), now);
    }
  } else if (const auto* body = std::get_if<exchange_body>(&event)) {
    const bool is_alive = http.on_body(body->bytes);
    read(*call, is_alive, now);
    if (http.has_failed() && call->state() == call_state::running) {
      stop(*call, std::nullopt, "", now);
    }
  } else {
    auto result = call->conclude(http.on_end(std::get<exchange_ended>(event)));
    end_try(*call, std::move(result), now);
  }
}

void gateway_rules::on_program(program_event event, moment now) {
  auto* call = running(std::visit([](const auto& x) { return x.id; }, event));
  if (call == nullptr) {
    return;
  }
  if (const auto* output = std::get_if<program_output>(&event)) {
    call->append(output->bytes, now.at);
    read(*call, true, now);
  } else {
    end_try(*call, call->conclude_program(std::get<program_ended>(event)), now);
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
  for (auto& [name, desk] : desks_) {
    if (desk.player) {
      play(desk, now);
    }
  }
  std::vector<call_id> open;
  for (const auto& [id, call] : calls_) {
    open.push_back(id);
  }
  for (const auto id : open) {
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
  if (const auto outcome = call.overdue(now.at, why)) {
    stop(call, outcome, std::move(why), now);
  } else if (call.is_lingering(now.at)) {
    stop(call, std::nullopt, "", now);
  } else if (call.is_stuck(now.at)) {
    try_result lost;
    lost.outcome = llm_outcome::timed_out;
    lost.error = "told to stop, and no end came";
    return end_try(call, call.conclude(std::move(lost)), now);
  } else if (call.is_due(now.at)) {
    call.requeue();
    desk_of(call).queue.push_front(call.id());
  }
  read(call, false, now);
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

void gateway_rules::end_try(llm_call& call, try_result result, moment now) {
  by_try_.erase(call.try_id());
  auto& desk = desk_of(call);
  desk.queue.on_ended(call.id());
  if (!try_again(call, result, now)) {
    end(call, std::move(result), now);
  }
  pump(desk, now);
}

bool gateway_rules::try_again(llm_call& call, const try_result& result, moment now) {
  auto& desk = desk_of(call);
  failed_try failed;
  failed.outcome = result.outcome;
  failed.http_status = result.http_status;
  failed.is_permanent = result.is_permanent;
  failed.headers = call.http() == nullptr ? nullptr : &call.http()->headers();
  failed.counted = call.counted_tries();
  failed.streak = std::max(desk.queue.streak_for(call.sent_at()), call.throttles() + 1);
  failed.throttled = call.throttled();
  failed.utc_s = now.utc_us / 1'000'000;
  failed.seed = seed_ ^ (call.try_id() * 0x9E3779B97F4A7C15U);
  const auto decision = decide_retry(failed, limits_of(desk.config));
  if (!decision.is_again) {
    return false;
  }
  if (decision.is_shared) {
    desk.queue.throttle(now.at + decision.wait, call.sent_at(), now.at, decision.why);
    desk.queue.push_front(call.id());
  }
  call.retry(decision.is_shared, uses_up_a_try(result.outcome), decision.wait, decision.why, now.at);
  tell_progress(call, now);
  return true;
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
  effects_.emplace_back(std::move(ended));
  by_try_.erase(call.try_id());
  by_key_.erase(call.key());
  calls_.erase(id);
  close_withdrawals(id);
}

void gateway_rules::tell_progress(llm_call& call, moment now) {
  const auto& desk = desk_of(call);
  const auto note = desk.player ? desk.player->waits_for(call.key()) : std::string{};
  if (auto progress = call.take_progress(now, desk.queue, note)) {
    effects_.emplace_back(std::move(*progress));
  }
}

void gateway_rules::on_withdraw(const withdraw_prompts& msg, std::uint64_t ticket, moment now) {
  if (msg.worker.empty() && withdrawn_races_.insert(msg.race).second) {
    withdrawn_order_.push_back(msg.race);
    if (withdrawn_order_.size() > remembered_races) {
      withdrawn_races_.erase(withdrawn_order_.front());
      withdrawn_order_.pop_front();
    }
  }
  std::erase_if(last_ended_, [&](const auto& x) {
    return x.first.first == msg.race && (msg.worker.empty() || x.first.second == msg.worker);
  });
  forget_players(msg);
  withdrawal todo{ticket, msg.race, {}, 0};
  for (const auto& [id, call] : calls_) {
    if (matches(msg, call.key())) {
      todo.open.insert(id);
    }
  }
  todo.calls = static_cast<std::uint32_t>(todo.open.size());
  const auto open = todo.open;
  withdrawals_.push_back(std::move(todo));
  for (const auto id : open) {
    auto& call = calls_.at(id);
    const bool has_try = call.state() == call_state::running || call.state() == call_state::stopping;
    stop(call, llm_outcome::cancelled, "withdrawn", now);
    if (!has_try || desk_of(call).player) {
      desk_of(call).queue.on_ended(id);
      end(call, call.conclude({}), now);
    }
  }
  close_withdrawals(0);
  for (auto& [name, desk] : desks_) {
    if (desk.player) {
      play(desk, now);
    }
    pump(desk, now);
  }
}

void gateway_rules::forget_players(const withdraw_prompts& msg) {
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
