// SPDX-License-Identifier: Apache-2.0
#include "coordinator/coordinator.hpp"

#include "actors/dedup_registry.hpp"
#include "actors/wake_timer.hpp"
#include "coordinator/node_session.hpp"
#include "coordinator/race.hpp"
#include "messages/limits.hpp"
#include "regatta_version.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <set>

namespace regatta {

namespace {

using coordinator_shell = coordinator_actor::extend<caf::reacts_to<wake_up>>;

struct coordinator_state {
  coordinator_state() {}  // An aggregate would start with its first member set to `self` (CAF 0.17.6, C++20).
  static inline const char* name = "coordinator";
  coordinator_config config;
  llm_gateway_actor gateway;
  dedup_registry_actor registry;
  std::map<node_id, node_session_actor> sessions;
  std::map<race_id, race_actor> races;
  std::set<race_id> known;  ///< Every race ever started here: an id is a run directory.
  std::string broken;       ///< Which essential actor is gone, and why.
  enum class stage : std::uint8_t { serving, stopping_races, stopping_actors } at = stage::serving;
  std::set<caf::actor_addr> awaited;  ///< Own actors that have been told to end.
};
using coordinator_pointer = coordinator_shell::stateful_pointer<coordinator_state>;

/// Where a message goes; empty if its race is unknown or over.
race_actor route(coordinator_pointer self, const race_id& race) {
  const auto found = self->state.races.find(race);
  return found == self->state.races.end() ? race_actor{} : found->second;
}

template <class Reply>
auto ask_race(coordinator_pointer self) {
  return [=](const auto& msg) -> caf::result<Reply> {
    if (const auto to = route(self, msg.race)) {
      return self->delegate(to, msg);
    }
    return fail(ec::unknown_race, to_string(msg.race));
  };
}

template <class Message>
auto tell_race(coordinator_pointer self) {
  return [=](const Message& msg) {
    if (const auto to = route(self, msg.race)) {
      self->send(to, msg);
    }
  };
}

caf::error refusal(coordinator_pointer self, const race_spec& spec) {
  const auto& st = self->state;
  if (auto invalid = validate(spec)) {
    return invalid;
  }
  if (st.at != coordinator_state::stage::serving) {
    return fail(ec::refused, "the coordinator is shutting down");
  }
  if (!st.broken.empty()) {
    return fail(ec::internal, st.broken);
  }
  if (st.sessions.empty()) {
    return fail(ec::refused, "no node is connected");
  }
  return st.known.contains(spec.race) ? fail(ec::already_exists, to_string(spec.race)) : caf::error{};
}

caf::result<accepted> on_start_race(coordinator_pointer self, const start_race& msg) {
  if (auto refused = refusal(self, msg.spec)) {
    return refused;
  }
  auto& st = self->state;
  race_config config{{msg.spec, {}, version, st.config.wall_clock_us, msg.standing},
                     {},
                     st.gateway,
                     st.registry,
                     st.config.store,
                     st.config.sinks};
  for (const auto& [id, session] : st.sessions) {
    config.rules.nodes.push_back(id);
    config.nodes.emplace(id, session);
  }
  st.known.insert(msg.spec.race);
  st.races.emplace(msg.spec.race, spawn_race_under(*self, std::move(config)));
  return accepted{"coordinator"};
}

/// On behalf of a race whose actor is gone: nothing of it may go on, and whoever listens must hear of its end.
void close_orphan(coordinator_pointer self, const race_id& race, const std::string& reason) {
  auto& st = self->state;
  for (const auto& [id, session] : st.sessions) {
    self->request(session, quiet_timeout, cancel{race}).then([](const cancelled&) {}, [](const caf::error&) {});
  }
  self->request(st.gateway, quiet_timeout, withdraw_prompts{race, {}})
      .then([](const prompts_withdrawn&) {}, [](const caf::error&) {});
  self->send(st.registry, forget_race{race});
  race_ended ended;
  ended.end = race_end::internal;
  ended.reason = "race ended: " + reason;
  for (const auto& [id, session] : st.sessions) {
    ended.unconfirmed_nodes.push_back(id);
  }
  for (const auto& sink : st.config.sinks) {
    self->send(sink, race_closed{race, ended, "", "the race's actor ended before its record was committed"});
  }
}

/// Anonymous: an exit message from a linked actor takes the link down first, and its end would go unnoticed.
void end_actor(coordinator_pointer self, const auto& actor) {
  self->state.awaited.insert(actor.address());
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

/// Races first, so that each can stop its candidates and finish its record; then whatever served them.
void leave_if_done(coordinator_pointer self) {
  auto& st = self->state;
  if (st.at == coordinator_state::stage::stopping_races && st.races.empty()) {
    st.at = coordinator_state::stage::stopping_actors;
    for (const auto& [id, session] : st.sessions) {
      end_actor(self, session);
    }
    end_actor(self, st.gateway);
    end_actor(self, st.registry);
  }
  if (st.at == coordinator_state::stage::stopping_actors && st.awaited.empty()) {
    self->quit(caf::exit_reason::user_shutdown);
  }
}

void shut_down(coordinator_pointer self) {
  auto& st = self->state;
  if (st.at != coordinator_state::stage::serving) {
    return;
  }
  st.at = coordinator_state::stage::stopping_races;
  self->delayed_send(self, shutdown_timeout, wake_up{});
  for (const auto& [id, race] : st.races) {
    self->send(race, stop_race{id, "shutting down"});
  }
  leave_if_done(self);
}

bool on_race_down(coordinator_pointer self, const caf::exit_msg& msg) {
  auto& st = self->state;
  for (const auto& [id, race] : st.races) {
    if (msg.source == race) {
      const auto gone = id;
      st.races.erase(gone);
      if (msg.reason) {
        close_orphan(self, gone, self->system().render(msg.reason));
      }
      return true;
    }
  }
  return false;
}

/// Races watch these actors, too, and end by themselves; here only what comes later is refused.
bool on_own_actor_down(coordinator_pointer self, const caf::actor_addr& source, const caf::error& reason) {
  auto& st = self->state;
  const auto was_session = std::erase_if(st.sessions, [&](const auto& x) { return source == x.second; }) > 0;
  const std::string_view what = source == st.gateway        ? "llm_gateway"
                                : source == st.registry     ? "dedup_registry"
                                : source == st.config.store ? "store"
                                                            : "";
  if (!what.empty()) {
    st.broken = std::string{what} + " ended: " + self->system().render(reason);
  }
  st.awaited.erase(source);
  return was_session || !what.empty();
}

void on_exit(coordinator_pointer self, const caf::exit_msg& msg) {
  if (!on_race_down(self, msg) && !on_own_actor_down(self, msg.source, msg.reason)) {
    shut_down(self);
  }
  leave_if_done(self);
}

void start_actors(coordinator_pointer self) {
  auto& st = self->state;
  self->set_exit_handler([=](caf::exit_msg& msg) { on_exit(self, msg); });
  self->set_down_handler([=](caf::down_msg& down) { on_own_actor_down(self, down.source, down.reason); });
  self->monitor(st.config.store);
  st.gateway = st.config.make_gateway(self->system(), prompt_sink_actor{self});
  self->link_to(st.gateway);
  st.registry = spawn_dedup_registry(self->system(), reservation_sink_actor{self});
  self->link_to(st.registry);
  for (const auto& entry : st.config.nodes) {
    st.sessions.emplace(entry.id, spawn_node_session_under(*self, entry, uplink_actor{self}));
  }
}

coordinator_shell::behavior_type coordinator(coordinator_pointer self, coordinator_config config) {
  self->state.config = std::move(config);
  start_actors(self);
  return {
      [=](const prompt& msg) { return ask_race<accepted>(self)(msg); },
      [=](const reserve& msg) { return ask_race<reservation>(self)(msg); },
      [=](const settle& msg) { return ask_race<void>(self)(msg); },
      tell_race<release>(self),
      tell_race<report>(self),
      tell_race<winner>(self),
      tell_race<worker_ended>(self),
      tell_race<node_quiet>(self),
      tell_race<run_ended>(self),
      tell_race<prompt_progress>(self),
      tell_race<prompt_delta>(self),
      tell_race<prompt_ended>(self),
      tell_race<reservation_resolved>(self),
      tell_race<stop_race>(self),
      [=](const start_race& msg) { return on_start_race(self, msg); },
      // The time for a clean end is over; links take down what is left.
      [=](const wake_up&) { self->quit(caf::exit_reason::kill); },
  };
}

}  // namespace

coordinator_actor spawn_coordinator(caf::actor_system& system, coordinator_config config) {
  return system.spawn(coordinator, std::move(config));
}

}  // namespace regatta
