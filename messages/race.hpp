// SPDX-License-Identifier: Apache-2.0
/// \file
/// Protocol of a RACE: coordinator's side (race, node_session) and node's side (node_agent, worker).
#pragma once

#include "messages/evaluation.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/limits.hpp"
#include "messages/llm.hpp"
#include "messages/outcome.hpp"
#include "messages/stage.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

/// The answer of everything that says "I have it; what comes of it arrives later".
struct accepted {
  std::string by;  ///< Who holds it now: node, provider …
  REGATTA_MESSAGE(accepted, by);
};

/// What the worker needs to know; everything that a worker started elsewhere after a crash needs, too.
struct worker_spec {
  worker_id worker;
  std::uint32_t number = 0;   ///< From 1.
  std::uint32_t variant = 0;  ///< Index into the stage's variants.
  model_choice choice;
  /// Asked in this order once the choice before is gone for good (key refused, unknown model, quota spent).
  std::vector<model_choice> fallbacks;
  REGATTA_FIELDS(worker, number, variant, choice, fallbacks);
};

/// Everything a race is made of.
struct race_spec {
  race_id race;
  stage_spec stage;
  problem_spec problem;
  std::vector<worker_spec> workers;
  std::uint32_t rounds = 10;  ///< KernelAgent's `max_iters`.
  accept_rule accept = accept_rule::claimed;
  duplicate_policy on_duplicate = duplicate_policy::reprompt;
  device_need device = device_need::any;
  run_limits limits;
  std::vector<std::string> keep;       ///< Artifacts of the candidate to copy out.
  std::chrono::seconds deadline{0};    ///< From start; 0: none.
  std::string run_dir;                 ///< Absolute path on the coordinator's host.
  spending_limits budget;              ///< Of this race alone. 0: no limit.
  std::string currency;                ///< Of its prices, for people; empty: not known, or several.
  std::string recording;               ///< `--replay`: absolute path of what answers it; empty: none does.
  std::string recording_digest;        ///< SHA-256 of that file's bytes.
  judge_terms judging;
  REGATTA_FIELDS(race, stage, problem, workers, rounds, accept, on_duplicate, device, limits, keep, deadline, run_dir,
                 budget, currency, recording, recording_digest, judging);
};

/// An evaluation that is on record already; its candidate is not run again.
struct known_evaluation {
  source_digest digest;
  evaluation result;
  REGATTA_FIELDS(digest, result);
};

/// Where a worker goes on: round 1 with no error, or what it had reached.
struct worker_progress {
  std::uint32_t round = 1;
  std::string error_context;    ///< What the next prompt says of the last failure; empty in round 1.
  std::string last_code;        ///< The candidate that failed, for the repair prompt.
  std::vector<source_digest> own_digests;  ///< What this worker has already tried in earlier rounds.
  std::uint32_t fallback = 0;  ///< 0: its own choice; n: the n-th of its fallbacks.
  std::vector<known_evaluation> evaluated;  ///< In the current round, by a former start; counts for this round only.
  REGATTA_FIELDS(round, error_context, last_code, own_digests, fallback, evaluated);
};

/// race -> node agent: start this worker. Answered by `accepted` or `ec::refused` (draining, cancelled race).
/// Idempotent by (race, worker, start).
struct spawn_worker {
  race_id race;
  worker_spec spec;
  std::uint32_t start = 1;      ///< How-manieth start of this worker; messages of an earlier one are ignored.
  worker_progress progress;
  stage_spec stage;
  problem_spec problem;
  std::uint32_t rounds = 10;
  accept_rule accept = accept_rule::claimed;
  duplicate_policy on_duplicate = duplicate_policy::reprompt;
  device_need device = device_need::any;
  run_limits limits;
  std::vector<std::string> keep;
  judge_terms judging;
  REGATTA_MESSAGE(spawn_worker, race, spec, start, progress, stage, problem, rounds, accept, on_duplicate, device,
                  limits, keep, judging);
};

/// worker -> race: this candidate was accepted. The first one decides the race; later ones are runners-up.
struct winner {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  source_digest digest;
  std::string code;
  evaluation result;
  REGATTA_MESSAGE(winner, race, worker, round, attempt, digest, code, result);
};

/// race -> every node: stop everything of this race; candidates first, then workers. Answered by `cancelled` when
/// every tree is signalled and every worker stopped; `node_quiet` follows when every tree is reaped. Idempotent.
struct cancel {
  race_id race;
  REGATTA_MESSAGE(cancel, race);
};

struct cancelled {
  race_id race;
  node_id node;
  std::uint32_t runs = 0;     ///< Trees signalled.
  std::uint32_t workers = 0;  ///< Workers stopped.
  REGATTA_MESSAGE(cancelled, race, node, runs, workers);
};

/// node agent -> race: nothing of this race runs here any more, as the kernel confirms.
struct node_quiet {
  race_id race;
  node_id node;
  REGATTA_MESSAGE(node_quiet, race, node);
};

/// node agent -> race, once per start of a worker; `crashed` is reported by the node agent on its behalf.
struct worker_ended {
  race_id race;
  worker_id worker;
  std::uint32_t start = 1;
  worker_end end = worker_end::crashed;
  std::string reason;  ///< One line for people.
  REGATTA_MESSAGE(worker_ended, race, worker, start, end, reason);
};

}  // namespace regatta
