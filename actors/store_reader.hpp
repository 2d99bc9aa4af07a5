// SPDX-License-Identifier: Apache-2.0
/// \file
/// STORE READER: what the store knows, for `regatta list` and `regatta show`. Opens the database read-only, so it may
/// run beside processes that write. Plain class, blocks; not for actors.
///
/// Words (ends, outcomes, phases …) are the stable names of messages/outcome.hpp; empty means "not yet" or "none".
/// Texts come from models and candidates: strip control sequences before a terminal sees them.
#pragma once

#include "actors/store_rows.hpp"
#include "messages/error.hpp"
#include "messages/ids.hpp"

#include <caf/expected.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

class database;

class store_reader {
public:
  /// Fails: `ec::not_found` (no database in this folder), `ec::store_failed` (newer schema: both numbers are named).
  static caf::expected<store_reader> open(const std::string& state_dir);

  store_reader(store_reader&&) noexcept;
  store_reader& operator=(store_reader&&) noexcept;
  ~store_reader();

  /// Newest first; at most `limit`.
  caf::expected<std::vector<race_row>> list_races(std::uint32_t limit = 1'000);

  /// Which race a user means: a race id, the unique beginning of one (`run_20261130_10`), or `latest`. Never looks at
  /// the file system. Fails: `ec::not_found`, naming what was asked and, if several match, some of them.
  caf::expected<race_id> find_race(std::string_view run);

  /// Fails: `ec::unknown_race`.
  caf::expected<race_record> load_race(const race_id& race);

  /// Every answer that a worker of this race has heard, in the order of the ledger. Where a process that died had been
  /// answered and the next one again, both are there.
  caf::expected<std::vector<reply_row>> load_replies(const race_id& race);

  /// A candidate's source, from any race. Fails: `ec::not_found`.
  caf::expected<std::string> load_candidate(const source_digest& digest);

private:
  explicit store_reader(std::unique_ptr<database> db);
  std::unique_ptr<database> db_;
};

}  // namespace regatta
