// SPDX-License-Identifier: Apache-2.0
/// \file
/// Beginning, stopping and closing a race: user, coordinator, race, store and event sinks.
#pragma once

#include "messages/event.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/race.hpp"

#include <cstdint>
#include <string>

namespace regatta {

/// race -> store: answer when all events of this race up to `seq` are on disk, in the database and in the run
/// directory. Answered by `committed`, or `ec::store_failed`, `ec::store_full`.
struct commit {
  race_id race;
  std::uint64_t seq = 0;
  REGATTA_MESSAGE(commit, race, seq);
};

struct committed {
  race_id race;
  std::uint64_t seq = 0;
  std::string artifact_path;  ///< `result.tar.gz`, absolute; empty without a winner.
  REGATTA_MESSAGE(committed, race, seq, artifact_path);
};

/// user -> coordinator: begin. Answered by `accepted`, or `ec::already_exists`, `ec::refused`, `ec::invalid_config`.
struct start_race {
  race_spec spec;
  REGATTA_MESSAGE(start_race, spec);
};

/// user -> coordinator -> race: stop cleanly. Idempotent; the race then ends as `race_end::cancelled`.
struct stop_race {
  race_id race;
  std::string why;  ///< "Ctrl-C", "regatta cancel by pid 4711" …
  REGATTA_MESSAGE(stop_race, race, why);
};

/// race -> event sinks, after the last event's `commit`: all files are written, nothing of the race runs.
struct race_closed {
  race_id race;
  race_ended ended;
  std::string artifact_path;   ///< Empty without a winner or if packaging failed.
  std::string commit_failure;  ///< Empty if all is on disk.
  REGATTA_MESSAGE(race_closed, race, ended, artifact_path, commit_failure);
};

}  // namespace regatta
