// SPDX-License-Identifier: Apache-2.0
/// \file
/// GC: takes races that are over out of a state folder, oldest first: their rows, then their files. Plain class, blocks.
///
/// Never touched: a race that has not ended (it runs, or can be resumed), a race with a call in flight, candidates that
/// another race refers to, and the sums that budgets are checked against.
#pragma once

#include "actors/store_database.hpp"
#include "messages/ids.hpp"

#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace regatta {

struct gc_limits {
  std::int64_t older_than_us = 0;  ///< Races that ended longer ago go; 0: no limit of age.
  std::uint64_t keep_bytes = 0;    ///< The oldest go until the state folder is no larger; 0: no limit of size.
};

struct gc_race {
  race_id race;
  std::string problem;
  std::string end;
  std::int64_t ended_us = 0;
  std::uint64_t bytes = 0;  ///< Of its files.
};

struct gc_plan {
  std::vector<gc_race> races;           ///< Those that go, oldest first.
  std::vector<std::string> leftovers;   ///< Paths that killed processes and former gcs have left.
  std::uint32_t ended = 0;              ///< Races that are over, those that go included.
  std::uint32_t running = 0;
  std::uint32_t resumable = 0;          ///< Not ended, and their process is gone.
  std::uint64_t bytes = 0;              ///< Of the whole state folder.
};

struct gc_result {
  std::uint32_t races = 0;
  std::uint32_t leftovers = 0;
  std::uint64_t bytes = 0;           ///< The state folder is smaller by so much.
  std::vector<std::string> kept;     ///< What could not be removed, and why.
};

class store_gc {
public:
  /// Fails: `ec::not_found` (no store), and as `open_store`.
  static caf::expected<std::unique_ptr<store_gc>> open(const std::string& state_dir);

  caf::expected<gc_plan> plan(const gc_limits& limits, std::int64_t now_us);
  /// `told`: after each race that is gone.
  caf::expected<gc_result> run(const gc_plan& plan, std::int64_t now_us, const std::function<void(const gc_race&)>& told);

private:
  store_gc(std::unique_ptr<database> db, std::string state_dir) : db_{std::move(db)}, state_dir_{std::move(state_dir)} {}

  caf::error find_races(gc_plan& out, std::vector<gc_race>& ended);
  void find_leftovers(gc_plan& out, const std::vector<std::string>& alive) const;
  caf::error transact(const std::function<caf::error()>& body);
  caf::error remove_rows(const race_id& race, std::int64_t now_us);
  caf::error remove_orphans();
  caf::error give_pages_back();

  std::unique_ptr<database> db_;
  std::string state_dir_;
  std::vector<std::string> alive_;  ///< Ids of races that may run.
  std::vector<std::string> known_;  ///< Ids of all.
};

}  // namespace regatta
