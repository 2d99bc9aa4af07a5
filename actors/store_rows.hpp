// SPDX-License-Identifier: Apache-2.0
/// \file
/// STORE ROWS: what the store says of races, as values. store_reader.hpp fills them; the account of a race is made of
/// them.
#pragma once

#include "messages/ids.hpp"
#include "messages/llm.hpp"
#include "messages/money.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regatta {

/// The process that runs a race. `start_ticks` (field 22 of /proc/PID/stat) and `boot_id` tell a live owner from
/// another process that got the same pid.
struct race_owner {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string boot_id;
  std::string host;
  std::int64_t heartbeat_us = 0;  ///< UTC µs; every 5 s while the race runs.
};

struct race_row {
  race_id race;
  std::string problem;  ///< Name.
  std::string problem_path;
  std::string problem_digest;
  std::string stage;
  std::string accept;   ///< `claimed` or `verified`.
  std::string run_dir;  ///< Absolute.
  std::string version;  ///< Of the Regatta that ran it.
  std::uint32_t workers = 0;
  std::uint32_t rounds = 0;     ///< Allowed for each worker.
  std::int64_t started_us = 0;  ///< UTC µs.
  std::int64_t ended_us = 0;    ///< 0: it runs, or its process died.
  std::string end;              ///< Empty as `ended_us` is 0.
  std::string reason;           ///< As in summary.json.
  worker_id winner;
  std::uint32_t winner_round = 0;
  source_digest winner_digest;
  std::string standing;  ///< "claimed, not verified" or "verified"; empty without a winner.
  std::string artifact_path;
  std::chrono::microseconds decided{};
  std::chrono::microseconds cancelled{};
  std::chrono::microseconds quiet{};
  std::chrono::microseconds elapsed{};
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint32_t llm_calls = 0;
  std::uint32_t evaluations = 0;
  std::uint32_t runners_up = 0;
  std::vector<std::string> unconfirmed_nodes;
  nano_units cost = 0;           ///< Charged so far.
  nano_units reserved_cost = 0;  ///< The part of `cost` that is an upper bound, not usage.
  nano_units in_flight = 0;      ///< Reserved by calls that have not ended.
  std::uint32_t lost_in_flight = 0;
  std::uint32_t resumes = 0;
  spending_limits budget;
  std::string currency;        ///< Of all money above, for people; empty: not known, or several.
  std::uint64_t last_seq = 0;  ///< Of the last stored event.
  race_owner owner;
  bool is_running = false;  ///< Not ended, and its process may be alive (on another host nothing can be seen).
};

/// The timing of a race's winner, and what was known of the reference before.
struct timing_row {
  std::string status;   ///< `timed` … (docs/judge.md), `not_done`; empty: none was asked for.
  std::string reason;   ///< Why not, or why rejected.
  std::string record;   ///< One JSON object, whole; `{}` without one.
  double baseline_ms = 0;         ///< Of the reference, by the latest other race of the same problem; 0: none.
  std::string baseline_device;
  std::int64_t baseline_us = 0;   ///< UTC µs.
  race_id baseline_race;
};

struct worker_row {
  worker_id worker;
  std::uint32_t number = 0;
  std::uint32_t variant = 0;
  model_choice choice;
  std::string node;
  std::uint32_t starts = 0;
  std::uint32_t round = 0;  ///< The last that it reached.
  std::string phase;
  std::string note;
  std::string end;
  std::string reason;
  std::int64_t started_us = 0;
  std::int64_t ended_us = 0;
  std::uint32_t llm_calls = 0;
  std::uint32_t evaluations = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  nano_units cost = 0;
  std::uint32_t lost_in_flight = 0;
};

struct round_row {
  worker_id worker;
  std::uint32_t round = 0;
  std::string extraction;  ///< `found`, `no_code` …
  std::string extraction_note;
  source_digest digest;   ///< Of the candidate; empty without one.
  std::string duplicate;  ///< `unique` …; empty if it was not asked.
  worker_id duplicate_of;
  std::string why;  ///< Of the failure; empty if it won or still runs.
  bool has_won = false;
  bool was_accepted = false;  ///< Won, or passed after the race was decided.
};

struct evaluation_row {
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  source_digest digest;
  std::string outcome;
  std::string claim;
  std::string judgement;
  bool is_accepted = false;
  std::int32_t exit_code = -1;
  std::int32_t signal = 0;
  std::string reason;
  std::string node;
  std::string slot;
  std::string gpu_uuid;
  std::string engine;
  std::string sandbox_level;
  std::int64_t started_us = 0;
  std::chrono::microseconds queued{};
  std::chrono::microseconds elapsed{};
  std::chrono::microseconds killed_in{};
  std::chrono::microseconds cpu_time{};
  std::uint64_t peak_memory = 0;
  std::uint32_t judge_version = 0;  ///< 0: not judged; then nothing of the following is told.
  std::string kernel_evidence;
  std::string marks, tightened, tolerances, trials, compiled;  ///< JSON.
  std::uint32_t trial_count = 0;
  double worst_rel = 0, norm = 0, eager_norm = 0;  ///< The largest of all trials.
};

/// One try.
struct llm_call_row {
  std::uint64_t call = 0;  ///< Its number in the ledger.
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::uint32_t try_number = 1;
  std::string wire;
  model_choice choice;
  std::string prompt_digest;
  std::string outcome;  ///< Empty: in flight, or its process died.
  std::string finish_reason;
  std::string error;
  std::uint32_t http_status = 0;
  std::uint32_t tries = 0;
  token_usage usage;
  std::int64_t sent_us = 0;
  std::chrono::milliseconds first_text{};
  std::chrono::milliseconds elapsed{};
  nano_units reserved = 0;
  nano_units cost = 0;
  std::string basis;
  std::uint64_t charged_tokens = 0;
  bool is_answer = false;  ///< The last try of its prompt.
};

/// What one prompt brought: the last try of it.
struct reply_row {
  std::uint32_t worker = 0;  ///< Its number.
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  llm_outcome outcome = llm_outcome::replied;
  std::string text;
  std::string finish_reason;
  std::string response_id;
  std::string error;
  std::uint32_t http_status = 0;
  token_usage usage;
};

/// One race, whole; each list in the order in which things happened (workers by number).
struct race_record {
  race_row race;
  timing_row timing;
  std::vector<worker_row> workers;
  std::vector<round_row> rounds;
  std::vector<evaluation_row> evaluations;
  std::vector<llm_call_row> llm_calls;
};

}  // namespace regatta
