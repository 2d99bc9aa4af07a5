// SPDX-License-Identifier: Apache-2.0
#include "node/node_agent.hpp"

#include "actors/wake_timer.hpp"
#include "actors/worker.hpp"
#include "messages/limits.hpp"
#include "node/node_rules.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

namespace regatta {

namespace {

using agent_shell = node_agent_actor::extend<caf::reacts_to<wake_up>>;

struct hosted_worker {
  worker_actor handle;
  race_id race;
  worker_id worker;
};

struct agent_state {
  agent_state() {}  // An aggregate would start with its first member set to `self` (CAF 0.17.6, C++20).
  static inline const char* name = "node-agent";
  node_agent_config config;
  std::optional<node_rules> rules;
  evaluator_actor evaluator;
  bool has_evaluator = false;
  std::uint32_t evaluators_made = 0;
  std::unordered_map<caf::actor_addr, hosted_worker> workers;
  std::map<std::pair<race_id, worker_id>, worker_actor> by_name;
  std::map<race_id, std::weak_ptr<const worker_brief>> briefs;
  std::map<race_id, std::vector<caf::typed_response_promise<cancelled>>> askers;  ///< Of `cancel`.
  /// Set by the exit message: when to go whatever is left.
  std::optional<node_rules::time_point> leave_by;
  bool is_evaluator_told_to_end = false;
  wake_timer timer;
};
using agent_pointer = agent_shell::stateful_pointer<agent_state>;

void flush(agent_pointer self);

void send_to_worker(agent_pointer self, const auto& msg) {
  const auto found = self->state.by_name.find({msg.race, msg.worker});
  if (found != self->state.by_name.end()) {
    self->send(found->second, msg);
  }
}

void perform(agent_pointer self, const run_ended& x) {
  send_to_worker(self, x);
}
void perform(agent_pointer self, const timing_over& x) {
  self->send(self->state.config.uplink, x.message);
}
void perform(agent_pointer self, const worker_ended& x) {
  self->send(self->state.config.uplink, x);
}
void perform(agent_pointer self, const node_quiet& x) {
  self->send(self->state.config.uplink, x);
}

void perform(agent_pointer self, const cancel_runs& x) {
  const auto on_answer = [=](std::uint32_t runs) {
    if (x.worker.empty()) {
      self->state.rules->on_signalled(x.race, runs);
    }
    flush(self);
  };
  // Without an answer the workers stop all the same; the node is then not reported quiet while runs are open.
  self->request(self->state.evaluator, accept_timeout, x)
      .then([=](const runs_signalled& answer) { on_answer(answer.running + answer.queued); },
            [=](const caf::error&) { on_answer(0); });
}

/// Anonymous: an exit message from a linked actor takes the link down first, and its end would go unnoticed.
void perform(agent_pointer self, const stop_workers& x) {
  for (const auto& [addr, hosted] : self->state.workers) {
    if (hosted.race == x.race) {
      caf::anon_send_exit(hosted.handle, caf::exit_reason::user_shutdown);
    }
  }
}

void perform(agent_pointer self, const cancelled& x) {
  for (auto& asker : std::exchange(self->state.askers[x.race], {})) {
    asker.deliver(x);
  }
  self->state.askers.erase(x.race);
}

/// Ends in two steps: first everything that runs, then evaluator and checker, who end it.
void leave_if_done(agent_pointer self) {
  auto& st = self->state;
  if (!st.leave_by) {
    return;
  }
  const bool is_late = *st.leave_by <= self->clock().now();
  if ((st.rules->is_empty() || is_late) && !std::exchange(st.is_evaluator_told_to_end, true)) {
    caf::anon_send_exit(st.config.checker, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(st.evaluator, caf::exit_reason::user_shutdown);
  }
  if (is_late || (st.is_evaluator_told_to_end && !st.has_evaluator)) {
    self->quit(caf::exit_reason::user_shutdown);
  }
}

void flush(agent_pointer self) {
  auto& st = self->state;
  for (auto& effect : st.rules->take_effects()) {
    std::visit([&](const auto& x) { perform(self, x); }, effect);
  }
  auto deadline = st.rules->deadline();
  if (st.leave_by) {
    deadline = deadline ? std::min(*deadline, *st.leave_by) : st.leave_by;
  }
  st.timer.arm(self, deadline);
  leave_if_done(self);
}

void make_evaluator(agent_pointer self) {
  auto& st = self->state;
  ++st.evaluators_made;
  st.has_evaluator = true;
  st.evaluator = st.config.make_evaluator(self->system(), run_sink_actor{self});
  self->link_to(st.evaluator);
}

void on_evaluator_down(agent_pointer self, const std::string& reason) {
  auto& st = self->state;
  st.has_evaluator = false;
  if (st.is_evaluator_told_to_end) {
    self->quit(caf::exit_reason::user_shutdown);
    return;
  }
  // The new one first: workers that hear of their lost runs ask again at once.
  if (st.evaluators_made < evaluator_starts && !st.leave_by) {
    make_evaluator(self);
  }
  st.rules->on_evaluator_lost(reason);
  flush(self);
}

void on_worker_down(agent_pointer self, const caf::actor_addr& source, const caf::error& reason) {
  auto& st = self->state;
  const auto found = st.workers.find(source);
  const auto gone = found->second;
  st.workers.erase(found);
  const auto named = st.by_name.find({gone.race, gone.worker});
  if (named != st.by_name.end() && named->second == gone.handle) {
    st.by_name.erase(named);
  }
  const bool has_told = !reason;
  st.rules->on_worker_down(gone.race, gone.worker, has_told, "worker ended: " + self->system().render(reason),
                           self->clock().now());
  flush(self);
}

void on_exit(agent_pointer self, const caf::exit_msg& msg) {
  auto& st = self->state;
  if (st.workers.contains(msg.source)) {
    on_worker_down(self, msg.source, msg.reason);
  } else if (msg.source == st.evaluator) {
    on_evaluator_down(self, self->system().render(msg.reason));
  } else if (msg.source == st.config.checker) {
    // Its workers' questions fail by themselves and say so.
  } else if (!st.leave_by) {
    st.leave_by = self->clock().now() + quiet_timeout;
    st.rules->on_shutdown();
    flush(self);
  }
}

/// One for all workers of a race that are alive here at the same time.
shared_brief brief_for(agent_state& st, const spawn_worker& msg) {
  std::erase_if(st.briefs, [](const auto& x) { return x.second.expired(); });
  auto& known = st.briefs[msg.race];
  auto out = known.lock();
  if (!out) {
    out = brief_of(msg);
    known = out;
  }
  return out;
}

caf::result<accepted> on_spawn(agent_pointer self, const spawn_worker& msg) {
  auto& st = self->state;
  const auto answer = st.rules->on_spawn(msg);
  if (!answer) {
    return answer.error();
  }
  if (*answer == node_rules::spawn_answer::start_it) {
    auto handle = spawn_worker_under(*self, {order_of(msg, brief_for(st, msg)), st.config.uplink,
                                             caf::actor_cast<run_taker_actor>(self), st.config.checker});
    st.by_name[{msg.race, msg.spec.worker}] = handle;
    st.workers[handle.address()] = {handle, msg.race, msg.spec.worker};
  }
  return accepted{st.config.id.text};
}

caf::result<cancelled> on_cancel(agent_pointer self, const cancel& msg) {
  auto promise = self->make_response_promise<cancelled>();
  self->state.askers[msg.race].push_back(promise);
  self->state.rules->on_cancel(msg.race);
  flush(self);
  return promise;
}

caf::result<accepted> on_run(agent_pointer self, const run& msg) {
  if (auto refused = self->state.rules->on_run(msg)) {
    return refused;
  }
  auto promise = self->make_response_promise<accepted>();
  const auto key = key_of(msg);
  self->request(self->state.evaluator, accept_timeout, msg)
      .then([=](const accepted& answer) mutable { promise.deliver(answer); },
            [=](caf::error& why) mutable {
              // After a time-out it may run all the same: open until somebody says that it is not.
              if (code_of(why) != ec::reply_timeout) {
                self->state.rules->on_run_gone(key);
              }
              promise.deliver(why);
              flush(self);
            });
  return promise;
}

agent_shell::behavior_type node_agent(agent_pointer self, node_agent_config config) {
  self->state.rules.emplace(config.id);
  self->state.config = std::move(config);
  self->set_exit_handler([=](caf::exit_msg& msg) { on_exit(self, msg); });
  self->link_to(self->state.config.checker);
  make_evaluator(self);
  return {
      [=](const spawn_worker& msg) { return on_spawn(self, msg); },
      [=](const cancel& msg) { return on_cancel(self, msg); },
      [=](const prompt_progress& msg) { send_to_worker(self, msg); },
      [=](const prompt_ended& msg) { send_to_worker(self, msg); },
      [=](const reservation_resolved& msg) { send_to_worker(self, msg); },
      [=](const run_progress& msg) {
        if (self->state.rules->is_open(key_of(msg))) {
          send_to_worker(self, msg);
        }
      },
      [=](const run_ended& msg) {
        self->state.rules->on_run_ended(msg);
        flush(self);
      },
      [=](const run& msg) { return on_run(self, msg); },
      [=](const wake_up&) {
        self->state.timer.on_fired();
        self->state.rules->on_wake(self->clock().now());
        flush(self);
      },
  };
}

}  // namespace

node_actor spawn_node_agent(caf::actor_system& system, node_agent_config config) {
  return system.spawn(node_agent, std::move(config));
}

}  // namespace regatta
