// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/llm_gateway.hpp"

#include "actors/llm/curl_transport.hpp"
#include "actors/llm/provider_check.hpp"
#include "messages/install_paths.hpp"
#include "messages/limits.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace regatta {

namespace {

using namespace std::chrono_literals;
using self_pointer = llm_gateway_core_actor::stateful_pointer<llm_gateway_state>;

/// As fine as deltas are batched; only runs while there are calls.
constexpr auto tick_interval = 20ms;
/// For the last answers of the ledger; a part of `shutdown_timeout`, which whoever ends us waits. Judgement.
constexpr auto leave_timeout = 5s;

std::int64_t system_utc_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

moment now_of(self_pointer self) {
  return {self->clock().now(), self->state.config.utc_us()};
}

void follow_up(self_pointer self);

void ask(self_pointer self, ask_ledger what) {
  const auto id = what.id;
  const auto on_error = [self, id](const caf::error& why) {
    self->state.rules.on_ledger_error(id, why, now_of(self));
    follow_up(self);
  };
  const auto on_opened = [self, id](const call_opened& answer) {
    self->state.rules.on_opened(id, answer, now_of(self));
    follow_up(self);
  };
  const auto on_closed = [self, id](const call_closed&) {
    self->state.rules.on_closed(id, now_of(self));
    follow_up(self);
  };
  const auto& ledger = self->state.config.ledger;
  if (auto* opening = std::get_if<open_call>(&what.what)) {
    self->request(ledger, ledger_timeout, std::move(*opening)).then(on_opened, on_error);
  } else {
    self->request(ledger, ledger_timeout, std::move(std::get<close_call>(what.what))).then(on_closed, on_error);
  }
}

void apply(self_pointer self, gateway_effect effect) {
  auto& state = self->state;
  if (auto* exchange = std::get_if<begin_exchange>(&effect)) {
    state.http->start(exchange->id, std::move(exchange->request));
  } else if (auto* program = std::get_if<begin_program>(&effect)) {
    state.programs->start(program->id, std::move(program->spec));
  } else if (const auto* stop_http = std::get_if<stop_exchange>(&effect)) {
    state.http->cancel(stop_http->id);
  } else if (const auto* stop_command = std::get_if<stop_program>(&effect)) {
    state.programs->cancel(stop_command->id);
  } else if (auto* booking = std::get_if<ask_ledger>(&effect)) {
    ask(self, std::move(*booking));
  } else if (auto* done = std::get_if<withdrawal_done>(&effect)) {
    auto ticket = state.tickets.extract(done->ticket);
    ticket.mapped().deliver(std::move(done->answer));
  } else if (auto* progress = std::get_if<prompt_progress>(&effect)) {
    self->send(state.config.sink, std::move(*progress));
  } else if (auto* delta = std::get_if<prompt_delta>(&effect)) {
    self->send(state.config.sink, std::move(*delta));
  } else if (auto* ended = std::get_if<prompt_ended>(&effect)) {
    self->send(state.config.sink, std::move(*ended));
  }
}

void leave_if_done(self_pointer self) {
  auto& state = self->state;
  if (state.leaving && (!state.rules.has_work() || self->clock().now() >= state.leave_at)) {
    self->quit(*state.leaving);
  }
}

/// After every message: what the rules want done, and the timer while there are calls.
void follow_up(self_pointer self) {
  for (auto& effect : self->state.rules.take_effects()) {
    apply(self, std::move(effect));
  }
  if (!self->state.is_ticking && self->state.rules.has_work()) {
    self->state.is_ticking = true;
    self->delayed_send(self, tick_interval, gateway_tick{});
  }
  leave_if_done(self);
}

/// A row that stays open when its process has gone is charged in full and counted as lost: whatever is open is ended
/// and its booking waited for.
void on_exit(self_pointer self, const caf::exit_msg& msg) {
  if (!msg.reason || self->state.leaving) {
    return;
  }
  self->state.leaving = msg.reason;
  self->state.leave_at = self->clock().now() + leave_timeout;
  self->state.rules.on_leave(now_of(self));
  follow_up(self);
}

std::map<std::string, caf::expected<recording>> read_recordings(const std::vector<provider_config>& providers) {
  std::map<std::string, caf::expected<recording>> out;
  for (const auto& provider : providers) {
    if (provider.kind == provider_kind::replay) {
      out.emplace(provider.name, load_recording(provider.recording));
    }
  }
  return out;
}

bool any_of(const std::vector<provider_config>& providers, bool (*is_such)(provider_kind)) {
  return std::any_of(providers.begin(), providers.end(), [&](const auto& x) { return is_such(x.kind); });
}

/// The threads hold the gateway by a strong handle: it must not be destroyed by the last of its own messages, in a
/// thread that would then join itself. The exit message ends the circle.
void make_threads(self_pointer self) {
  auto& state = self->state;
  const llm_gateway_core_actor me{self};
  if (any_of(state.config.providers, [](provider_kind x) { return speaks_http(x); })) {
    state.http = state.config.make_transport([me](exchange_event x) { caf::anon_send(me, std::move(x)); });
  }
  if (any_of(state.config.providers, [](provider_kind x) { return x == provider_kind::command; })) {
    state.programs = state.config.make_programs([me](program_event x) { caf::anon_send(me, std::move(x)); });
  }
}

void fill_defaults(llm_gateway_config& config) {
  if (!config.make_transport) {
    config.make_transport = [](exchange_sink sink) { return std::make_unique<curl_transport>(std::move(sink)); };
  }
  if (!config.make_programs) {
    const auto program =
        config.lifeline_program.empty() ? program_dir() + "/regatta-lifeline" : config.lifeline_program;
    config.make_programs = [program](program_sink sink) {
      return std::make_unique<command_runner>(std::move(sink), program);
    };
  }
  if (!config.utc_us) {
    config.utc_us = &system_utc_us;
  }
}

caf::expected<accepted> on_prompt(self_pointer self, const prompt& msg) {
  auto answer = self->state.rules.on_prompt(msg, now_of(self));
  follow_up(self);
  return answer;
}

caf::typed_response_promise<prompts_withdrawn> on_withdraw(self_pointer self, const withdraw_prompts& msg) {
  auto& state = self->state;
  auto promise = self->make_response_promise<prompts_withdrawn>();
  const auto ticket = ++state.last_ticket;
  state.tickets.emplace(ticket, promise);
  state.rules.on_withdraw(msg, ticket, now_of(self));
  follow_up(self);
  return promise;
}

void on_tick(self_pointer self) {
  self->state.is_ticking = false;
  self->state.rules.on_tick(now_of(self));
  follow_up(self);
}

}  // namespace

llm_gateway_core_actor::behavior_type llm_gateway(self_pointer self, llm_gateway_config config) {
  auto& state = self->state;
  fill_defaults(config);
  state.config = std::move(config);
  state.rules = gateway_rules{
      state.config.providers,
      read_recordings(state.config.providers),
      {bool{state.config.ledger}, state.config.process_budget, state.config.day_budget, state.config.seed}};
  make_threads(self);
  self->set_exit_handler([=](caf::exit_msg& msg) { on_exit(self, msg); });
  return {
      [=](const prompt& msg) { return on_prompt(self, msg); },
      [=](const withdraw_prompts& msg) { return on_withdraw(self, msg); },
      [=](const exchange_event& msg) {
        self->state.rules.on_exchange(msg, now_of(self));
        follow_up(self);
      },
      [=](const program_event& msg) {
        self->state.rules.on_program(msg, now_of(self));
        follow_up(self);
      },
      [=](const gateway_tick&) { on_tick(self); },
  };
}

llm_gateway_actor spawn_llm_gateway(caf::actor_system& system, llm_gateway_config config) {
  return system.spawn(llm_gateway, std::move(config));
}

}  // namespace regatta
