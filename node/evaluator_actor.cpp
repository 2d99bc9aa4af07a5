// SPDX-License-Identifier: Apache-2.0
#include "node/evaluator_actor.hpp"

#include "node/evaluation_record.hpp"
#include "node/run_book.hpp"

#include <caf/actor_cast.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace regatta {

namespace {

/// sandbox's thread -> the evaluator itself.
struct tree_gone {
  run_number run = 0;
  judged_end result;
};
struct evaluator_tick {};
/// A thread that asked the driver -> the evaluator itself.
struct gpu_memory_seen {
  std::vector<std::uint64_t> free;
};

}  // namespace

}  // namespace regatta

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(regatta::tree_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(regatta::evaluator_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(regatta::gpu_memory_seen)

namespace regatta {

namespace {

using inner_actor = evaluator_actor::extend<caf::reacts_to<tree_gone>, caf::reacts_to<evaluator_tick>,
                                             caf::reacts_to<gpu_memory_seen>>;

/// Kills what it still knows when it goes: an evaluator that ends leaves nothing running.
class evaluator_state {
public:
  evaluator_state() {}
  evaluator_state(const evaluator_state&) = delete;
  evaluator_state& operator=(const evaluator_state&) = delete;
  ~evaluator_state() {
    for (const auto& [number, handle] : handles) {
      launcher->cancel(handle);
    }
  }

  const gpu* device_of(const run_entry& entry) const {
    const bool has_gpu = entry.held && entry.held->kind == slot_kind::gpu;
    return has_gpu ? &config.gpus[entry.held->device] : nullptr;
  }
  void kill(run_number number) {
    if (const auto at = handles.find(number); at != handles.end()) {
      launcher->cancel(at->second);
    }
  }

  static inline const char* name = "evaluator";
  evaluator_config config;
  evaluator_timing timing;
  std::shared_ptr<candidate_launcher> launcher;
  std::optional<run_book> book;
  std::unordered_map<run_number, candidate_launcher::handle> handles;
  bool is_ticking = false;
  bool is_looking = false;  ///< At the GPUs' memory.
};

/// What a run on a shared GPU must find free to be let in: two contexts of 0.7 GB (measured), and tensors. Judgement.
constexpr std::uint64_t memory_of_a_gpu_run = 4 * GiB;

using self_pointer = inner_actor::stateful_pointer<evaluator_state>;

run_ended ended(const run_entry& entry, evaluation result) {
  return {entry.what.race, entry.what.worker, entry.what.round, entry.what.attempt, std::move(result)};
}

/// Called on the sandbox's thread: touches nothing but the mailbox, and keeps no actor alive.
std::function<void(judged_end)> tell_when_gone(self_pointer self, run_number number) {
  return [to = caf::weak_actor_ptr{self->ctrl()}, number](judged_end result) {
    if (const auto strong = caf::actor_cast<caf::strong_actor_ptr>(to)) {
      caf::anon_send(caf::actor_cast<inner_actor>(strong), tree_gone{number, std::move(result)});
    }
  };
}

/// Ticks only while there is something to tell: an idle evaluator does not keep its actor system awake.
void keep_ticking(self_pointer self) {
  auto& state = self->state;
  if (!state.is_ticking && !state.book->empty()) {
    state.is_ticking = true;
    self->delayed_send(self, state.timing.progress, evaluator_tick{});
  }
}

void start_runs(self_pointer self) {
  auto& state = self->state;
  for (const auto number : state.book->place(self->clock().now())) {
    const auto& entry = *state.book->find(number);
    const placement where{state.device_of(entry), entry.held->is_exclusive};
    state.handles[number] = state.launcher->start(entry.what, where, tell_when_gone(self, number));
    self->send(state.config.sink, run_progress{entry.what.race, entry.what.worker, entry.what.round, entry.what.attempt,
                                               true, 0, entry.held->slot});
  }
  keep_ticking(self);
}

caf::result<accepted> on_run(self_pointer self, run& what) {
  auto& state = self->state;
  const auto admitted = state.book->admit(std::move(what), self->clock().now());
  if (!admitted) {
    return admitted.error();
  }
  if (admitted->to_kill) {
    state.kill(*admitted->to_kill);
  }
  start_runs(self);
  return accepted{state.config.node.text};
}

runs_signalled on_cancel(self_pointer self, const cancel_runs& msg) {
  auto& state = self->state;
  const auto stopped = state.book->cancel(msg.race, msg.worker);
  for (const auto number : stopped.to_kill) {
    state.kill(number);
  }
  for (const auto& entry : stopped.dropped) {
    const auto now = self->clock().now();
    self->send(state.config.sink, ended(entry, make_cancelled_evaluation(entry, state.config, now)));
  }
  return {msg.race, static_cast<std::uint32_t>(stopped.to_kill.size()),
          static_cast<std::uint32_t>(stopped.dropped.size())};
}

void on_tree_gone(self_pointer self, const tree_gone& msg) {
  auto& state = self->state;
  state.handles.erase(msg.run);
  const auto neighbours_fault = doubt_beside_others(msg.result);
  if (!neighbours_fault.empty() && state.book->repeat_alone(msg.run, neighbours_fault, self->clock().now())) {
    start_runs(self);
    return;
  }
  const auto entry = state.book->finish(msg.run);
  if (entry && entry->stop != stop_cause::superseded) {
    const auto* device = state.device_of(*entry);
    const auto now = self->clock().now();
    self->send(state.config.sink, ended(*entry, make_evaluation(*entry, msg.result, state.config, device, now)));
  }
  start_runs(self);
}

/// As long as runs share GPUs. The driver may be slow to answer, or never do.
void look_at_memory(self_pointer self) {
  auto& state = self->state;
  if (state.is_looking || !state.config.free_gpu_memory || state.config.gpu_slots < 2) {
    return;
  }
  state.is_looking = true;
  std::thread{[look = state.config.free_gpu_memory, to = caf::weak_actor_ptr{self->ctrl()}] {
    auto seen = look();
    if (const auto strong = caf::actor_cast<caf::strong_actor_ptr>(to)) {
      caf::anon_send(caf::actor_cast<inner_actor>(strong), gpu_memory_seen{std::move(seen)});
    }
  }}.detach();
}

void on_memory(self_pointer self, const gpu_memory_seen& msg) {
  auto& state = self->state;
  state.is_looking = false;
  for (std::size_t i = 0; i < msg.free.size() && i < state.config.gpus.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i);
    const auto more = std::min<std::uint64_t>(msg.free[i] / memory_of_a_gpu_run, state.config.gpu_slots);
    state.book->limit(number, state.book->runs_on(number) + static_cast<std::uint32_t>(more));
  }
  start_runs(self);
}

void on_tick(self_pointer self) {
  auto& state = self->state;
  state.is_ticking = false;
  for (const auto number : state.book->expire(self->clock().now())) {
    state.kill(number);
  }
  for (auto& each : state.book->progress()) {
    self->send(state.config.sink, std::move(each));
  }
  look_at_memory(self);
  keep_ticking(self);
}

inner_actor::behavior_type evaluator(self_pointer self, evaluator_config config,
                                     std::shared_ptr<candidate_launcher> launcher, evaluator_timing timing) {
  auto& state = self->state;
  state.config = std::move(config);
  state.launcher = std::move(launcher);
  state.timing = timing;
  state.book.emplace(run_book_config{state.config.node, state.config.cpu_slots,
                                     static_cast<std::uint32_t>(state.config.gpus.size()), state.config.gpu_slots,
                                     timing.lease_grace});
  self->monitor(state.config.sink);
  self->set_down_handler([=](const caf::down_msg&) { self->quit(); });
  return {
      [=](run& msg) { return on_run(self, msg); },
      [=](const cancel_runs& msg) { return on_cancel(self, msg); },
      [=](const tree_gone& msg) { on_tree_gone(self, msg); },
      [=](const evaluator_tick&) { on_tick(self); },
      [=](const gpu_memory_seen& msg) { on_memory(self, msg); },
  };
}

}  // namespace

evaluator_actor spawn_evaluator_on(caf::actor_system& system, evaluator_config config,
                                   std::shared_ptr<candidate_launcher> launcher, evaluator_timing timing) {
  return system.spawn(evaluator, std::move(config), std::move(launcher), timing);
}

}  // namespace regatta
