// SPDX-License-Identifier: Apache-2.0
#include "actors/dedup_registry.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace regatta {

reservation dedup_registry_rules::answer(const entry& from, reservation_state state, const asker& to) {
  reservation out;
  out.state = state;
  out.owner = from.holder.worker;
  out.owner_round = from.holder.round;
  if (state == reservation_state::granted) {
    out.duplicate = duplicate::unique;
  } else {
    out.duplicate =
        from.holder.worker == to.worker ? duplicate::duplicate_same_worker : duplicate::duplicate_cross_worker;
  }
  if (state == reservation_state::settled) {
    out.verdict = from.verdict;
    out.feedback = from.feedback;
  }
  return out;
}

reservation dedup_registry_rules::on_reserve(const reserve& msg) {
  const asker from{msg.worker, msg.round, msg.attempt};
  auto [it, is_new] = races_[msg.race].try_emplace(msg.digest);
  auto& found = it->second;
  if (found.is_settled) {
    return answer(found, reservation_state::settled, from);
  }
  // A holder that asks again has lost our answer, or is a later start of the same worker: telling it `pending` would
  // park it behind itself.
  if (is_new || found.holder.worker == msg.worker) {
    found.holder = from;
    return answer(found, reservation_state::granted, from);
  }
  const auto waiting = std::ranges::find(found.waiters, msg.worker, &asker::worker);
  if (waiting == found.waiters.end()) {
    found.waiters.push_back(from);
  } else {
    *waiting = from;
  }
  return answer(found, reservation_state::pending, from);
}

caf::expected<dedup_registry_rules::resolved_list> dedup_registry_rules::on_settle(const settle& msg) {
  const auto race = races_.find(msg.race);
  if (race == races_.end() || !race->second.contains(msg.digest) ||
      race->second.at(msg.digest).holder.worker != msg.worker) {
    return fail(ec::not_holder, to_string(msg.worker) + " does not hold " + to_string(msg.digest));
  }
  auto& found = race->second.at(msg.digest);
  if (found.is_settled) {
    return resolved_list{};
  }
  found.is_settled = true;
  found.verdict = msg.verdict;
  found.feedback = msg.feedback;
  resolved_list out;
  for (const auto& to : std::exchange(found.waiters, {})) {
    out.push_back(
        {msg.race, to.worker, to.round, to.attempt, msg.digest, answer(found, reservation_state::settled, to)});
  }
  return out;
}

bool dedup_registry_rules::leave(entry& from, const source_digest& digest, const release& msg, resolved_list& out) {
  std::erase_if(from.waiters, [&](const asker& x) { return x.worker == msg.worker; });
  if (from.is_settled || from.holder.worker != msg.worker) {
    return false;
  }
  if (from.waiters.empty()) {
    return true;
  }
  from.holder = from.waiters.front();
  from.waiters.pop_front();
  out.push_back({msg.race, from.holder.worker, from.holder.round, from.holder.attempt, digest,
                 answer(from, reservation_state::granted, from.holder)});
  return false;
}

dedup_registry_rules::resolved_list dedup_registry_rules::on_release(const release& msg) {
  resolved_list out;
  const auto race = races_.find(msg.race);
  if (race == races_.end()) {
    return out;
  }
  auto& held = race->second;
  for (auto it = held.begin(); it != held.end();) {
    const bool is_meant = msg.digest.empty() || msg.digest == it->first;
    it = is_meant && leave(it->second, it->first, msg, out) ? held.erase(it) : std::next(it);
  }
  return out;
}

void dedup_registry_rules::on_restore_race(const restore_race& msg) {
  for (const auto& x : msg.candidates) {
    const auto [it, is_new] = races_[msg.race].try_emplace(x.digest);
    if (is_new) {
      it->second.holder = {x.worker, x.round, 1};
      it->second.is_settled = true;
      it->second.verdict = x.verdict;
      it->second.feedback = x.feedback;
    }
  }
}

namespace {

struct registry_state {
  registry_state() {}  // An aggregate would start with its first member set to `self` (CAF 0.17.6, C++20).
  static inline const char* name = "dedup-registry";
  reservation_sink_actor sink;
  dedup_registry_rules rules;
};
using registry_pointer = dedup_registry_actor::stateful_pointer<registry_state>;

void tell(registry_pointer self, const dedup_registry_rules::resolved_list& resolved) {
  for (const auto& x : resolved) {
    self->send(self->state.sink, x);
  }
}

dedup_registry_actor::behavior_type dedup_registry(registry_pointer self, reservation_sink_actor sink) {
  self->state.sink = std::move(sink);
  return {
      [=](const reserve& msg) { return self->state.rules.on_reserve(msg); },
      [=](const settle& msg) -> caf::result<void> {
        auto resolved = self->state.rules.on_settle(msg);
        if (!resolved) {
          return resolved.error();
        }
        tell(self, *resolved);
        return caf::unit;
      },
      [=](const release& msg) { tell(self, self->state.rules.on_release(msg)); },
      [=](const restore_race& msg) { self->state.rules.on_restore_race(msg); },
      [=](const forget_race& msg) { self->state.rules.on_forget_race(msg); },
  };
}

}  // namespace

dedup_registry_actor spawn_dedup_registry(caf::actor_system& system, reservation_sink_actor sink) {
  return system.spawn(dedup_registry, std::move(sink));
}

}  // namespace regatta
