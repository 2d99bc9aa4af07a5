// SPDX-License-Identifier: Apache-2.0
#include "actors/worker.hpp"

#include "actors/wake_timer.hpp"
#include "actors/worker_rules.hpp"
#include "messages/limits.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace regatta {

namespace {

using worker_shell = worker_actor::extend<caf::reacts_to<wake_up>>;

struct worker_state {
  worker_state() {}  // An aggregate would start with its first member set to `self` (CAF 0.17.6, C++20).
  static inline const char* name = "worker";
  uplink_actor uplink;
  run_taker_actor runs;
  source_checker_actor checker;
  std::optional<worker_rules> rules;
  wake_timer timer;
};
using worker_pointer = worker_shell::stateful_pointer<worker_state>;

void flush(worker_pointer self);

void ask(worker_pointer self, std::uint64_t step, prompt body) {
  self->request(self->state.uplink, accept_timeout, std::move(body))
      .then(
          [=](const accepted&) {
            self->state.rules->on_accepted(step, self->clock().now());
            flush(self);
          },
          [=](const caf::error& why) {
            self->state.rules->on_refused(step, why, self->clock().now());
            flush(self);
          });
}

void ask(worker_pointer self, std::uint64_t step, run body) {
  self->request(self->state.runs, accept_timeout, std::move(body))
      .then(
          [=](const accepted&) {
            self->state.rules->on_accepted(step, self->clock().now());
            flush(self);
          },
          [=](const caf::error& why) {
            self->state.rules->on_refused(step, why, self->clock().now());
            flush(self);
          });
}

void ask(worker_pointer self, std::uint64_t step, reserve body) {
  self->request(self->state.uplink, accept_timeout, std::move(body))
      .then(
          [=](const reservation& answer) {
            self->state.rules->on_reservation(step, answer, self->clock().now());
            flush(self);
          },
          [=](const caf::error& why) {
            self->state.rules->on_refused(step, why, self->clock().now());
            flush(self);
          });
}

void ask(worker_pointer self, std::uint64_t step, check_source body) {
  self->request(self->state.checker, check_timeout, std::move(body))
      .then(
          [=](const source_report& answer) {
            self->state.rules->on_source_report(step, answer, self->clock().now());
            flush(self);
          },
          [=](const caf::error& why) {
            self->state.rules->on_refused(step, why, self->clock().now());
            flush(self);
          });
}

void perform(worker_pointer self, worker_request x) {
  std::visit([&](auto& body) { ask(self, x.step, std::move(body)); }, x.body);
}

/// As a request, so that `ec::not_holder` comes back here and not as a stray error that would end this actor.
void perform(worker_pointer self, settle x) {
  self->request(self->state.uplink, accept_timeout, std::move(x)).then([] {}, [](const caf::error&) {});
}

void perform(worker_pointer self, auto x) {
  self->send(self->state.uplink, std::move(x));
}

void flush(worker_pointer self) {
  for (auto& effect : self->state.rules->take_effects()) {
    std::visit([&](auto& x) { perform(self, std::move(x)); }, effect);
  }
  self->state.timer.arm(self, self->state.rules->deadline());
  if (self->state.rules->is_ended()) {
    self->quit();
  }
}

worker_shell::behavior_type worker(worker_pointer self, worker_config config) {
  self->state.rules.emplace(std::move(config.order));
  self->state.uplink = std::move(config.uplink);
  self->state.runs = std::move(config.runs);
  self->state.checker = std::move(config.checker);
  self->state.rules->begin(self->clock().now());
  flush(self);
  return {
      [=](const prompt_progress& msg) {
        self->state.rules->on_prompt_progress(msg, self->clock().now());
        flush(self);
      },
      [=](const prompt_ended& msg) {
        self->state.rules->on_prompt_ended(msg, self->clock().now());
        flush(self);
      },
      [=](const reservation_resolved& msg) {
        self->state.rules->on_reservation_resolved(msg, self->clock().now());
        flush(self);
      },
      [=](const run_progress& msg) {
        self->state.rules->on_run_progress(msg, self->clock().now());
        flush(self);
      },
      [=](const run_ended& msg) {
        self->state.rules->on_run_ended(msg, self->clock().now());
        flush(self);
      },
      [=](const wake_up&) {
        self->state.timer.on_fired();
        self->state.rules->on_wake(self->clock().now());
        flush(self);
      },
  };
}

}  // namespace

worker_actor spawn_worker_under(caf::local_actor& parent, worker_config config) {
  return parent.spawn<caf::linked>(worker, std::move(config));
}

}  // namespace regatta
