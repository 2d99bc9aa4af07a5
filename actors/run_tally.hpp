// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a run directory remembers of its race between two events: enough for state.json and summary.json, never a
/// whole candidate's output.
#pragma once

#include "messages/event.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace regatta {

struct worker_tally {
  worker_spec spec;
  std::string node;
  std::uint32_t starts = 0;
  std::uint32_t round = 0;
  std::string last_response_id;
  std::string last_error;
  bool has_passed = false;
  std::optional<worker_end> end;
  std::string reason;
  std::string last_why;    ///< Of its last failed round.
  std::string code;        ///< Its last candidate, which its next evaluation runs.
  std::string run_folder;  ///< Of its last evaluation: `attempt_…`.
  std::uint32_t run_round = 0;
  std::uint32_t run_attempt = 0;
  std::uint32_t llm_calls = 0;
  std::uint32_t evaluations = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  nano_units cost = 0;
  std::uint32_t lost_in_flight = 0;
};

struct winner_tally {
  worker_id worker;
  std::uint32_t round = 0;
  source_digest digest;
  std::string standing;
};

/// Where candidates ran: of the winner's run, else of the last one.
struct run_place {
  std::string node;
  std::string slot;
  std::string gpu_uuid;
  std::string engine;
  std::string sandbox_level;
};

struct race_tally {
  race_id race;
  race_spec spec;  ///< Without the texts of problem and stage.
  std::string version;
  std::int64_t started_us = 0;
  std::map<worker_id, worker_tally> workers;
  std::optional<winner_tally> winner;
  std::vector<winner_tally> runners_up;
  std::optional<winner_tally> unproven;  ///< Right by a weak oracle.
  std::string unproven_code;
  std::optional<run_place> place;
  std::string artifact_path;      ///< Absolute; empty without one.
  std::string packaging_failure;  ///< Empty if there is none.
};

}  // namespace regatta
