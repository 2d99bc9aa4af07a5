// SPDX-License-Identifier: Apache-2.0
/// \file
/// Beginning, stopping and closing a race: user, coordinator, race, store and event sinks.
#pragma once

#include "messages/dedup.hpp"
#include "messages/event.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/race.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// Where one worker of a resumed race stands.
struct worker_standing {
  worker_id worker;
  std::uint32_t starts = 0;  ///< By former processes; the next one is this plus one.
  worker_progress progress;
  bool has_ended = false;    ///< For good: rounds spent, retired. It is not started again.
  worker_end end = worker_end::crashed;  ///< Only if `has_ended`.
  std::string reason;
  REGATTA_FIELDS(worker, starts, progress, has_ended, end, reason);
};

/// Where a race stands, as its record on disk tells.
struct race_standing {
  std::uint64_t last_seq = 0;
  std::uint32_t resumes = 0;  ///< Before this one.
  std::vector<worker_standing> workers;
  std::vector<settled_candidate> candidates;
  race_ended totals;          ///< Only its counters and sums.
  std::uint32_t replies = 0;  ///< Paid replies on disk.
  /// The first accepted candidate on record: it has won, whether or not its process lived to say so.
  std::optional<winner> passed;
  REGATTA_FIELDS(last_seq, resumes, workers, candidates, totals, replies, passed);
};

/// user -> coordinator: begin, or go on where `standing` says. Answered by `accepted`, or `ec::already_exists`,
/// `ec::refused`, `ec::invalid_config`.
struct start_race {
  race_spec spec;
  std::optional<race_standing> standing;
  REGATTA_MESSAGE(start_race, spec, standing);
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
