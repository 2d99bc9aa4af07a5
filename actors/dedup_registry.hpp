// SPDX-License-Identifier: Apache-2.0
/// \file
/// DEDUP REGISTRY: no two workers of a race spend a slot on the same candidate, and whoever had it second learns what
/// came of it.
///
///   (none) --reserve--> held --settle--> settled (final)
///      ^                 | |
///      +--release--------+ +--release, somebody waits--> held by the longest waiter
///
/// One per coordinator, a table per race. Answers workers; speaks to its sink, which routes by race. Never blocks.
#pragma once

#include "messages/coordinator_handles.hpp"
#include "messages/dedup.hpp"
#include "messages/error.hpp"
#include "messages/ids.hpp"

#include <caf/actor_system.hpp>
#include <caf/expected.hpp>

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace regatta {

/// The rules, free of CAF's mailbox. Every promise of `reservation_state::pending` is kept by a
/// `reservation_resolved` that one of these calls returns, unless the waiter itself gives up.
class dedup_registry_rules {
public:
  using resolved_list = std::vector<reservation_resolved>;

  reservation on_reserve(const reserve& msg);
  /// Fails: `ec::not_holder`. Settling twice is not an error: the first verdict stands.
  caf::expected<resolved_list> on_settle(const settle& msg);
  resolved_list on_release(const release& msg);
  /// What is held or settled already keeps its entry.
  void on_restore_race(const restore_race& msg);
  void on_forget_race(const forget_race& msg) { races_.erase(msg.race); }

  /// Races with a table; for tests that look for what is left behind.
  std::size_t race_count() const { return races_.size(); }

private:
  struct asker {
    worker_id worker;
    std::uint32_t round = 0;
    std::uint32_t attempt = 0;
  };
  struct entry {
    asker holder;
    std::deque<asker> waiters;  ///< Longest waiting first.
    bool is_settled = false;
    regatta::verdict verdict;
    std::string feedback;
  };
  using table = std::unordered_map<source_digest, entry>;

  static reservation answer(const entry& from, reservation_state state, const asker& to);
  /// The worker leaves this entry; true if nobody is left in it.
  static bool leave(entry& from, const source_digest& digest, const release& msg, resolved_list& out);

  std::unordered_map<race_id, table> races_;
};

dedup_registry_actor spawn_dedup_registry(caf::actor_system& system, reservation_sink_actor sink);

}  // namespace regatta
