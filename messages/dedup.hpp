// SPDX-License-Identifier: Apache-2.0
/// \file
/// Protocol between workers and the DEDUP REGISTRY: who may spend a slot on a candidate, and what came of it.
#pragma once

#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/outcome.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

/// worker -> registry, before a slot is spent. Answered by a `reservation`. Asking again with the same key gets the
/// same answer: a lost answer must not park the asker behind itself.
struct reserve {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  source_digest digest;
  REGATTA_MESSAGE(reserve, race, worker, round, attempt, digest);
};

enum class reservation_state : std::uint8_t {
  granted,  ///< The asker holds it: it alone may evaluate, and must `settle`.
  pending,  ///< Somebody else holds it. A `reservation_resolved` will come; asking again mends a lost one.
  settled,  ///< Already judged; `verdict` and `feedback` say how.
};

struct reservation {
  reservation_state state = reservation_state::pending;
  regatta::duplicate duplicate = duplicate::unique;
  worker_id owner;          ///< Who had it first; the asker itself if `unique`.
  std::uint32_t owner_round = 0;
  regatta::verdict verdict;  ///< Only if `settled`.
  std::string feedback;      ///< Only if `settled`: what the owner was told (the repair prompt's error text).
  REGATTA_MESSAGE(reservation, state, duplicate, owner, owner_round, verdict, feedback);
};

/// holder -> registry, once it has a verdict that counts against the candidate or for it. `sandbox_failed` and
/// `cancelled` do not count: send `release` instead. Fails: `ec::not_holder`.
struct settle {
  race_id race;
  worker_id worker;
  source_digest digest;
  regatta::verdict verdict;
  std::string feedback;
  REGATTA_MESSAGE(settle, race, worker, digest, verdict, feedback);
};

/// holder -> registry, or the race on behalf of a worker that is gone: give up what this worker holds (one digest,
/// or all of them if `digest` is empty). The longest waiter is granted next.
struct release {
  race_id race;
  worker_id worker;
  source_digest digest;
  REGATTA_MESSAGE(release, race, worker, digest);
};

/// registry -> race -> waiting worker: the answer that `pending` promised. `granted` if the holder gave up.
struct reservation_resolved {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  source_digest digest;
  reservation result;
  REGATTA_MESSAGE(reservation_resolved, race, worker, round, attempt, digest, result);
};

/// A candidate whose verdict is on record.
struct settled_candidate {
  worker_id worker;
  std::uint32_t round = 0;
  source_digest digest;
  regatta::verdict verdict;
  std::string feedback;
  REGATTA_FIELDS(worker, round, digest, verdict, feedback);
};

/// race -> registry, before its workers start: what a former process has settled. A digest that is known already keeps
/// its entry.
struct restore_race {
  race_id race;
  std::vector<settled_candidate> candidates;
  REGATTA_MESSAGE(restore_race, race, candidates);
};

/// race -> registry: the race is over; forget its table.
struct forget_race {
  race_id race;
  REGATTA_MESSAGE(forget_race, race);
};

}  // namespace regatta

REGATTA_ENUM_NAMES(regatta::reservation_state, 3, {regatta::reservation_state::granted, "granted"},
                   {regatta::reservation_state::pending, "pending"},
                   {regatta::reservation_state::settled, "settled"});
