// SPDX-License-Identifier: Apache-2.0
/// \file
/// EVENTS: everything that is ever said about a race, as facts. Store, run directory, event socket, `--json` and the
/// progress display all read these and nothing else. docs/events.md describes them for readers in other languages.
///
/// A worker reports facts; its race numbers and publishes them. Maps go by name: add fields, never rename one.
#pragma once

#include "messages/evaluation.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/llm.hpp"
#include "messages/outcome.hpp"
#include "messages/race.hpp"
#include "messages/worker_facts.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace regatta {

/// race: it begins. First event of a race.
struct race_started {
  race_spec spec;
  std::string version;  ///< Of Regatta.
  REGATTA_MESSAGE(race_started, spec, version);
};

/// race: a node took a worker.
struct worker_started {
  worker_id worker;
  node_id node;
  std::uint32_t start = 1;
  std::uint32_t round = 1;
  std::uint32_t variant = 0;
  model_choice choice;
  REGATTA_MESSAGE(worker_started, worker, node, start, round, variant, choice);
};

/// race: the model is being asked. `user` is what prompts/iteration_<k>.txt holds.
struct prompt_sent {
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  model_choice choice;
  std::string user;
  std::string prompt_digest;  ///< SHA-256 of system + NUL + user.
  REGATTA_MESSAGE(prompt_sent, worker, round, attempt, choice, user, prompt_digest);
};

/// race: a piece of a reply. Lossy; only for eyes.
struct reply_delta {
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::string text;
  REGATTA_MESSAGE(reply_delta, worker, round, attempt, text);
};

/// race: one LLM call ended.
struct reply_ended {
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  llm_outcome outcome = llm_outcome::transport_failed;
  std::string text;
  std::string finish_reason;
  std::string response_id;
  token_usage usage;
  std::string error;
  std::uint32_t http_status = 0;
  std::uint32_t tries = 0;
  std::chrono::milliseconds first_text{};
  std::chrono::milliseconds elapsed{};
  nano_units cost = 0;
  charge_basis basis = charge_basis::none;
  std::uint64_t charged_tokens = 0;
  std::uint32_t lost_in_flight = 0;
  bool is_known = false;
  std::string warning = {};
  REGATTA_MESSAGE(reply_ended, worker, round, attempt, outcome, text, finish_reason, response_id, usage, error,
                  http_status, tries, first_text, elapsed, cost, basis, charged_tokens, lost_in_flight, is_known,
                  warning);
};

/// race: this start of a worker is over.
struct worker_finished {
  worker_id worker;
  std::uint32_t start = 1;
  worker_end end = worker_end::crashed;
  std::string reason;
  REGATTA_MESSAGE(worker_finished, worker, start, end, reason);
};

/// race: the first accepted candidate. Everything else is being stopped from now on.
struct winner_decided {
  worker_id worker;
  std::uint32_t round = 0;
  source_digest digest;
  std::string code;
  evaluation result;
  std::string standing;  ///< "claimed, not verified" or "verified".
  REGATTA_MESSAGE(winner_decided, worker, round, digest, code, result, standing);
};

/// race: a candidate that was accepted after the race was decided.
struct runner_up {
  worker_id worker;
  std::uint32_t round = 0;
  source_digest digest;
  REGATTA_MESSAGE(runner_up, worker, round, digest);
};

/// race: every live node has stopped its workers and signalled its trees.
struct race_cancelled {
  std::string why;  ///< "won", "deadline", "Ctrl-C" …
  std::uint32_t runs = 0;
  std::uint32_t workers = 0;
  std::uint32_t prompts = 0;
  REGATTA_MESSAGE(race_cancelled, why, runs, workers, prompts);
};

/// race: the last event. Times are on the coordinator's monotonic clock.
struct race_ended {
  race_end end = race_end::internal;
  std::string reason;                 ///< summary.json's `reason`.
  worker_id winner;                   ///< Empty without one.
  std::uint32_t winner_round = 0;
  std::chrono::microseconds decided{};   ///< Start → decision (winner, or the reason to stop).
  std::chrono::microseconds cancelled{};  ///< Decision → every live node had signalled; `cancel_ms`.
  std::chrono::microseconds quiet{};      ///< Decision → every tree reaped, every stream closed; `quiet_ms`.
  std::chrono::microseconds elapsed{};    ///< Start → end.
  std::vector<node_id> unconfirmed_nodes;
  std::uint64_t input_tokens = 0;   ///< Sums of what providers reported.
  std::uint64_t output_tokens = 0;
  std::uint32_t llm_calls = 0;
  std::uint32_t evaluations = 0;
  std::uint32_t runners_up = 0;
  nano_units cost = 0;               ///< What all its calls were charged with; never below what providers bill.
  nano_units reserved_cost = 0;      ///< The part of `cost` that is an upper bound, not usage.
  std::uint32_t lost_in_flight = 0;  ///< Calls whose process died before they ended.
  std::uint32_t resumes = 0;         ///< How often this race was taken up again.
  worker_id unproven;                ///< Whose candidate is right by a weak oracle; empty without one.
  std::uint32_t unproven_round = 0;
  std::string timing;                ///< Of the winner, one JSON object (docs/judge.md); empty: not timed.
  std::string not_timed;             ///< Why not, if timing was asked for.
  REGATTA_MESSAGE(race_ended, end, reason, winner, winner_round, decided, cancelled, quiet, elapsed,
                  unconfirmed_nodes, input_tokens, output_tokens, llm_calls, evaluations, runners_up, cost,
                  reserved_cost, lost_in_flight, resumes, unproven, unproven_round, timing, not_timed);
};

/// race: a new process takes it up where the former one left it (killed, or stopped by its user).
struct race_resumed {
  std::string version;          ///< Of Regatta.
  std::uint32_t resumes = 1;    ///< This one included.
  std::uint32_t workers = 0;    ///< Those that go on.
  std::uint32_t replies = 0;    ///< Paid replies on disk.
  std::uint32_t evaluations = 0;  ///< Finished evaluations on disk.
  std::uint32_t rounds = 10;    ///< As now allowed.
  std::chrono::seconds deadline{0};  ///< From now; 0: none.
  spending_limits budget;       ///< As now allowed.
  REGATTA_MESSAGE(race_resumed, version, resumes, workers, replies, evaluations, rounds, deadline, budget);
};

using fact = std::variant<race_started, worker_started, worker_moved, prompt_sent, reply_delta, reply_ended,
                          code_extracted, candidate_reserved, candidate_evaluated, round_failed, worker_finished,
                          winner_decided, runner_up, race_cancelled, race_ended, race_resumed>;

/// What travels to every consumer. `seq` counts from 1 per race without gaps, so a reader sees what it missed.
struct event {
  std::uint32_t schema_version = 1;
  std::uint64_t seq = 0;
  std::int64_t at_us = 0;  ///< UTC µs.
  race_id race;
  fact body;
  REGATTA_MESSAGE(event, schema_version, seq, at_us, race, body);
};

/// The fact's kind, e.g. `winner_decided`: the last part of its topic.
std::string_view kind_of(const fact& x);

/// worker -> race: a fact about itself.
struct report {
  race_id race;
  worker_id worker;
  std::uint32_t start = 1;
  fact body;
  REGATTA_MESSAGE(report, race, worker, start, body);
};

}  // namespace regatta
