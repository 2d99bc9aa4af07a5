// SPDX-License-Identifier: Apache-2.0
/// \file
/// The facts that a worker reports about itself (messages/event.hpp has the race's own).
#pragma once

#include "messages/endings.hpp"
#include "messages/evaluation.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <string>

namespace regatta {

/// worker: where it is now. May be skipped when phases follow fast.
struct worker_moved {
  worker_id worker;
  std::uint32_t round = 0;
  worker_phase phase = worker_phase::starting;
  std::string note;  ///< For people: "throttled until 10:41:07 (429)", "same as worker_02's".
  REGATTA_MESSAGE(worker_moved, worker, round, phase, note);
};

/// worker: what was found in the reply.
struct code_extracted {
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  extraction result = extraction::no_code;
  std::string note;        ///< "line 3: invalid syntax", "block 2 of 3, as it defines kernel_function".
  std::string code;        ///< Canonical form; empty unless `found`.
  source_digest digest;
  REGATTA_MESSAGE(code_extracted, worker, round, attempt, result, note, code, digest);
};

/// worker: what the registry said.
struct candidate_reserved {
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  source_digest digest;
  regatta::duplicate duplicate = duplicate::unique;
  worker_id owner;
  REGATTA_MESSAGE(candidate_reserved, worker, round, attempt, digest, duplicate, owner);
};

/// worker: one evaluation ended.
struct candidate_evaluated {
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  source_digest digest;
  evaluation result;
  bool is_accepted = false;
  REGATTA_MESSAGE(candidate_evaluated, worker, round, attempt, digest, result, is_accepted);
};

/// worker: a round is over without a winner; `error_context` is what the next prompt will say.
struct round_failed {
  worker_id worker;
  std::uint32_t round = 0;
  std::string why;  ///< One line for people.
  std::string error_context;
  REGATTA_MESSAGE(round_failed, worker, round, why, error_context);
};

}  // namespace regatta
