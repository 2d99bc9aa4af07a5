// SPDX-License-Identifier: Apache-2.0
#include "coordinator/race.hpp"

#include "actors/wake_timer.hpp"
#include "coordinator/event_gate.hpp"
#include "messages/limits.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <limits>
#include <optional>

namespace regatta {

namespace {

using race_shell = race_actor::extend<caf::reacts_to<wake_up>>;

struct race_state {
  race_state() {}  // An aggregate would start with its first member set to `self` (CAF 0.17.6, C++20).
  static inline const char* name = "race";
  race_config config;
  std::optional<race_rules> rules;
  event_gate gate;
  wake_timer timer;
};
using race_pointer = race_shell::stateful_pointer<race_state>;

void flush(race_pointer self);

void order(race_pointer self, const node_actor& node, const node_id&, const spawn_worker& msg) {
  // Who and which start is all that its answer needs: a thousand are kept at once.
  spawn_worker asked;
  asked.race = msg.race;
  asked.spec.worker = msg.spec.worker;
  asked.start = msg.start;
  self->request(node, accept_timeout, msg)
      .then(
          [=](const accepted&) {
            self->state.rules->on_spawned(asked, caf::none, self->clock().now());
            flush(self);
          },
          [=](const caf::error& why) {
            self->state.rules->on_spawned(asked, why, self->clock().now());
            flush(self);
          });
}

void order(race_pointer self, const node_actor& node, const node_id& id, const cancel& msg) {
  self->request(node, quiet_timeout, msg)
      .then(
          [=](const cancelled& answer) {
            self->state.rules->on_cancelled(id, answer, self->clock().now());
            flush(self);
          },
          [=](const caf::error&) {
            self->state.rules->on_cancel_failed(id, self->clock().now());
            flush(self);
          });
}

/// The timing of the winner. That it is taken says nothing; its end does.
void order(race_pointer self, const node_actor& node, const node_id&, const run& msg) {
  self->request(node, accept_timeout, msg)
      .then([](const accepted&) {},
            [=](const caf::error& why) {
              self->state.rules->on_timing_refused(why, self->clock().now());
              flush(self);
            });
}

void tell(race_pointer self, const std::vector<event>& told) {
  for (const auto& x : told) {
    for (const auto& sink : self->state.config.sinks) {
      self->send(sink, x);
    }
  }
}

void ask_for_commit(race_pointer self) {
  const auto seq = self->state.gate.next_commit();
  if (!seq) {
    return;
  }
  const auto on_answer = [=] {
    tell(self, self->state.gate.on_answer(*seq));
    ask_for_commit(self);
  };
  self->request(self->state.config.store, commit_timeout, commit{self->state.config.rules.spec.race, *seq})
      .then([=](const committed&) { on_answer(); }, [=](const caf::error&) { on_answer(); });
}

void perform(race_pointer self, const event& x) {
  self->send(self->state.config.store, x);
  tell(self, self->state.gate.on_event(x));
}

void perform(race_pointer self, const node_order& x) {
  const auto node = self->state.config.nodes.at(x.node);
  std::visit([&](const auto& body) { order(self, node, x.node, body); }, x.body);
}

void perform(race_pointer self, const node_note& x) {
  std::visit([&](const auto& body) { self->send(self->state.config.nodes.at(x.node), body); }, x.body);
}

void perform(race_pointer self, const withdraw_prompts& x) {
  const auto on_answer = [=](std::uint32_t calls) {
    self->state.rules->on_withdrawn(x.worker, calls, self->clock().now());
    flush(self);
  };
  self->request(self->state.config.gateway, quiet_timeout, x)
      .then([=](const prompts_withdrawn& answer) { on_answer(answer.calls); },
            [=](const caf::error&) { on_answer(0); });
}

void perform(race_pointer self, const release& x) {
  self->send(self->state.config.registry, x);
}
void perform(race_pointer self, const restore_race& x) {
  self->send(self->state.config.registry, x);
}
void perform(race_pointer self, const forget_race& x) {
  self->send(self->state.config.registry, x);
}

/// Whatever is still held back: it is on disk by now, or never will be.
void tell_the_rest(race_pointer self) {
  tell(self, self->state.gate.on_answer(std::numeric_limits<std::uint64_t>::max()));
}

void close(race_pointer self, const race_closed& closed) {
  tell_the_rest(self);
  for (const auto& sink : self->state.config.sinks) {
    self->send(sink, closed);
  }
  self->quit();
}

void perform(race_pointer self, const race_over& x) {
  const auto race = self->state.config.rules.spec.race;
  self->request(self->state.config.store, commit_timeout, commit{race, x.last_seq})
      .then(
          [=](const committed& answer) {
            close(self, {race, x.ended, answer.artifact_path, ""});
          },
          [=](const caf::error& why) {
            close(self, {race, x.ended, "", describe(why)});
          });
}

void flush(race_pointer self) {
  for (const auto& effect : self->state.rules->take_effects()) {
    std::visit([&](const auto& x) { perform(self, x); }, effect);
  }
  ask_for_commit(self);
  self->state.timer.arm(self, self->state.rules->deadline());
}

void on_down(race_pointer self, const caf::down_msg& down) {
  auto& st = self->state;
  const auto now = self->clock().now();
  const auto reason = self->system().render(down.reason);
  if (down.source == st.config.gateway) {
    st.rules->on_essential_lost("llm_gateway", reason, now);
  } else if (down.source == st.config.registry) {
    st.rules->on_essential_lost("dedup_registry", reason, now);
  } else if (down.source == st.config.store) {
    st.rules->on_essential_lost("store", reason, now);
  } else {
    for (const auto& [id, node] : st.config.nodes) {
      if (down.source == node) {
        st.rules->on_node_lost(id, reason, now);
        break;
      }
    }
  }
  flush(self);
}

/// Only the record is finished; cancelling what still runs is the coordinator's part (coordinator.cpp).
void on_exit(race_pointer self, const caf::exit_msg& msg) {
  self->state.rules->abandon(self->system().render(msg.reason), self->clock().now());
  for (const auto& effect : self->state.rules->take_effects()) {
    if (const auto* x = std::get_if<event>(&effect)) {
      perform(self, *x);
    }
  }
  tell_the_rest(self);
  self->quit(msg.reason);
}

void watch(race_pointer self) {
  self->set_down_handler([=](caf::down_msg& down) { on_down(self, down); });
  self->set_exit_handler([=](caf::exit_msg& msg) { on_exit(self, msg); });
  const auto& config = self->state.config;
  self->monitor(config.gateway);
  self->monitor(config.registry);
  self->monitor(config.store);
  for (const auto& [id, node] : config.nodes) {
    self->monitor(node);
  }
}

/// For handlers whose whole work is one call of a rule.
template <class Message>
auto with_rule(race_pointer self, void (race_rules::*rule)(const Message&)) {
  return [=](const Message& msg) {
    ((*self->state.rules).*rule)(msg);
    flush(self);
  };
}
template <class Message>
auto with_rule(race_pointer self, void (race_rules::*rule)(const Message&, race_rules::time_point)) {
  return [=](const Message& msg) {
    ((*self->state.rules).*rule)(msg, self->clock().now());
    flush(self);
  };
}

caf::result<accepted> on_prompt(race_pointer self, const prompt& msg) {
  auto refused = self->state.rules->on_prompt(msg);
  flush(self);
  if (refused) {
    return refused;
  }
  auto counted = msg;
  counted.workers = static_cast<std::uint32_t>(self->state.config.rules.spec.workers.size());
  counted.budget = self->state.config.rules.spec.budget;
  return self->delegate(self->state.config.gateway, std::move(counted));
}

caf::result<reservation> on_reserve(race_pointer self, const reserve& msg) {
  if (auto refused = self->state.rules->on_reserve(msg)) {
    return refused;
  }
  return self->delegate(self->state.config.registry, msg);
}

race_shell::behavior_type race(race_pointer self, race_config config) {
  self->state.rules.emplace(config.rules);
  self->state.config = std::move(config);
  watch(self);
  self->state.rules->begin(self->clock().now());
  flush(self);
  return {
      [=](const prompt& msg) { return on_prompt(self, msg); },
      [=](const reserve& msg) { return on_reserve(self, msg); },
      [=](const settle& msg) -> caf::result<void> { return self->delegate(self->state.config.registry, msg); },
      [=](const release& msg) { self->send(self->state.config.registry, msg); },
      with_rule(self, &race_rules::on_report),
      with_rule(self, &race_rules::on_winner),
      with_rule(self, &race_rules::on_worker_ended),
      with_rule(self, &race_rules::on_node_quiet),
      with_rule(self, &race_rules::on_run_ended),
      with_rule(self, &race_rules::on_prompt_progress),
      with_rule(self, &race_rules::on_prompt_delta),
      with_rule(self, &race_rules::on_prompt_ended),
      with_rule(self, &race_rules::on_reservation_resolved),
      with_rule(self, &race_rules::on_stop),
      [=](const wake_up&) {
        self->state.timer.on_fired();
        self->state.rules->on_wake(self->clock().now());
        flush(self);
      },
  };
}

}  // namespace

race_actor spawn_race_under(caf::local_actor& parent, race_config config) {
  return parent.spawn<caf::linked>(race, std::move(config));
}

}  // namespace regatta
