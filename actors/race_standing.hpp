// SPDX-License-Identifier: Apache-2.0
/// \file
/// A race taken up again: what its record says, and whose it is. Blocks; not for actors.
#pragma once

#include "actors/store_reader.hpp"
#include "messages/race_control.hpp"

#include <caf/expected.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace regatta {

/// Everything that `start_race` needs to go on, and what a user must be told if it may not.
struct race_standing_record {
  race_spec spec;           ///< As it began; rounds, deadline and budget as the last resume allowed them.
  race_standing standing;
  std::string version;      ///< Of the Regatta that began it.
  race_owner owner;
  bool is_owned = false;    ///< Its process may be alive.
  /// Decided. Without `ended` its process died before the race was over: only the winner's worker has not ended then,
  /// its accepted evaluation is known, and going on finishes the race.
  std::optional<winner_decided> winner;
  std::optional<race_ended> ended;  ///< Empty: it never came to its end, or was resumed since.
};

/// Fails: `ec::not_found` (no store), `ec::unknown_race`, `ec::store_failed`.
caf::expected<race_standing_record> load_standing(const std::string& state_dir, const race_id& race);

/// Raises or lowers the rounds of each worker, and says anew whose rounds are spent.
void allow_rounds(race_standing_record& record, std::uint32_t rounds);

/// `pid 4711 on host-a, last heard of 3 s ago`.
std::string describe_owner(const race_owner& owner, std::int64_t now_us);

/// Makes this process the race's owner, in one transaction, so that of two that try only one goes on. `last_seq`: of
/// the standing that it will go on from; empty: whatever it is. Fails: `ec::refused` naming the process that has it, or saying that somebody
/// else has gone on meanwhile; `ec::unknown_race`, `ec::store_failed`, `ec::store_full`.
caf::error claim_race(const std::string& state_dir, const race_id& race, std::int64_t now_us,
                      std::optional<std::uint64_t> last_seq = {});

/// Undoes a claim that led to nothing: a race that had ended before has ended again, as `ended` says. Does nothing if
/// another process has it, or if something has happened since `last_seq`. Fails: `ec::store_failed`, `ec::store_full`.
caf::error release_race(const std::string& state_dir, const race_id& race, const race_ended& ended,
                        std::uint64_t last_seq);

}  // namespace regatta
