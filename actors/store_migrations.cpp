// SPDX-License-Identifier: Apache-2.0
#include "actors/store_migrations.hpp"

#include "actors/store_migration_2.hpp"
#include "actors/store_migration_3.hpp"
#include "actors/store_migration_4.hpp"
#include "actors/store_migration_5.hpp"

#include <array>
#include <cassert>
#include <cstddef>

namespace regatta {

namespace {

constexpr std::string_view store_schema_1 = R"sql(
CREATE TABLE problems(
  digest TEXT PRIMARY KEY,
  name   TEXT NOT NULL,
  path   TEXT NOT NULL,
  text   TEXT NOT NULL
) STRICT;

CREATE TABLE stages(
  digest TEXT PRIMARY KEY,
  name   TEXT NOT NULL
) STRICT;

CREATE TABLE races(
  race_id           TEXT PRIMARY KEY,
  problem_digest    TEXT NOT NULL REFERENCES problems(digest),
  problem_path      TEXT NOT NULL,
  stage_digest      TEXT NOT NULL REFERENCES stages(digest),
  accept            TEXT NOT NULL,
  on_duplicate      TEXT NOT NULL,
  device            TEXT NOT NULL,
  workers           INTEGER NOT NULL,
  rounds            INTEGER NOT NULL,
  deadline_s        INTEGER NOT NULL,
  run_dir           TEXT NOT NULL,
  version           TEXT NOT NULL,
  started_us        INTEGER NOT NULL,
  last_seq          INTEGER NOT NULL DEFAULT 0,
  winner_worker     TEXT,
  winner_round      INTEGER,
  winner_digest     TEXT,
  standing          TEXT,
  cancel_why        TEXT,
  ended_us          INTEGER,
  end               TEXT,
  reason            TEXT,
  artifact_path     TEXT,
  decided_us        INTEGER,
  cancel_us         INTEGER,
  quiet_us          INTEGER,
  elapsed_us        INTEGER,
  input_tokens      INTEGER,
  output_tokens     INTEGER,
  llm_calls         INTEGER,
  evaluations       INTEGER,
  runners_up        INTEGER,
  unconfirmed_nodes TEXT,
  owner_pid          INTEGER NOT NULL,
  owner_start_ticks  INTEGER NOT NULL,
  owner_boot_id      TEXT NOT NULL,
  owner_host         TEXT NOT NULL,
  owner_heartbeat_us INTEGER NOT NULL
) STRICT;
CREATE INDEX races_by_start ON races(started_us);
CREATE INDEX races_by_problem ON races(problem_digest, stage_digest);

CREATE TABLE workers(
  race_id           TEXT NOT NULL REFERENCES races ON DELETE CASCADE,
  worker_id         TEXT NOT NULL,
  number            INTEGER NOT NULL,
  variant           INTEGER NOT NULL,
  provider          TEXT NOT NULL,
  model             TEXT NOT NULL,
  temperature       REAL,
  seed              INTEGER,
  max_output_tokens INTEGER NOT NULL,
  reasoning_effort  TEXT NOT NULL,
  node              TEXT,
  starts            INTEGER NOT NULL DEFAULT 0,
  round             INTEGER NOT NULL DEFAULT 0,
  phase             TEXT,
  note              TEXT,
  started_us        INTEGER,
  ended_us          INTEGER,
  end               TEXT,
  reason            TEXT,
  PRIMARY KEY(race_id, worker_id)
) STRICT;

CREATE TABLE rounds(
  race_id         TEXT NOT NULL,
  worker_id       TEXT NOT NULL,
  round           INTEGER NOT NULL,
  started_us      INTEGER NOT NULL,
  extraction      TEXT,
  extraction_note TEXT,
  digest          TEXT,
  duplicate       TEXT,
  duplicate_of    TEXT,
  why             TEXT,
  error_context   TEXT,
  has_won         INTEGER NOT NULL DEFAULT 0,
  was_accepted    INTEGER NOT NULL DEFAULT 0,
  ended_us        INTEGER,
  PRIMARY KEY(race_id, worker_id, round),
  FOREIGN KEY(race_id, worker_id) REFERENCES workers ON DELETE CASCADE
) STRICT;

CREATE TABLE candidates(
  digest TEXT PRIMARY KEY,
  code   TEXT NOT NULL
) STRICT;

CREATE TABLE evaluations(
  race_id        TEXT NOT NULL,
  seq            INTEGER NOT NULL,
  worker_id      TEXT NOT NULL,
  round          INTEGER NOT NULL,
  attempt        INTEGER NOT NULL,
  digest         TEXT NOT NULL,
  outcome        TEXT NOT NULL,
  claim          TEXT NOT NULL,
  judgement      TEXT NOT NULL,
  is_accepted    INTEGER NOT NULL,
  exit_code      INTEGER NOT NULL,
  signal         INTEGER NOT NULL,
  reason         TEXT NOT NULL,
  stdout_bytes   INTEGER NOT NULL,
  stderr_bytes   INTEGER NOT NULL,
  started_us     INTEGER NOT NULL,
  queued_us      INTEGER NOT NULL,
  elapsed_us     INTEGER NOT NULL,
  killed_in_us   INTEGER NOT NULL,
  cpu_us         INTEGER NOT NULL,
  peak_memory    INTEGER NOT NULL,
  node           TEXT NOT NULL,
  slot           TEXT NOT NULL,
  gpu_uuid       TEXT NOT NULL,
  engine         TEXT NOT NULL,
  sandbox_level  TEXT NOT NULL,
  sandbox_engine TEXT NOT NULL,
  is_warm        INTEGER NOT NULL,
  python         TEXT NOT NULL,
  PRIMARY KEY(race_id, seq),
  FOREIGN KEY(race_id, worker_id) REFERENCES workers ON DELETE CASCADE
) STRICT;
CREATE INDEX evaluations_by_worker ON evaluations(race_id, worker_id, round, attempt);
CREATE INDEX evaluations_by_digest ON evaluations(digest);

CREATE TABLE artifacts(
  race_id TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  name    TEXT NOT NULL,
  content BLOB,
  problem TEXT NOT NULL,
  FOREIGN KEY(race_id, seq) REFERENCES evaluations ON DELETE CASCADE
) STRICT;
CREATE INDEX artifacts_by_evaluation ON artifacts(race_id, seq);

CREATE TABLE llm_calls(
  race_id           TEXT NOT NULL,
  sent_seq          INTEGER NOT NULL,
  worker_id         TEXT NOT NULL,
  round             INTEGER NOT NULL,
  attempt           INTEGER NOT NULL,
  provider          TEXT NOT NULL,
  model             TEXT NOT NULL,
  temperature       REAL,
  seed              INTEGER,
  max_output_tokens INTEGER NOT NULL,
  reasoning_effort  TEXT NOT NULL,
  prompt_digest     TEXT NOT NULL,
  sent_us           INTEGER NOT NULL,
  ended_us          INTEGER,
  outcome           TEXT,
  reply             TEXT,
  finish_reason     TEXT,
  response_id       TEXT,
  error             TEXT,
  http_status       INTEGER,
  tries             INTEGER,
  input_tokens      INTEGER,
  output_tokens     INTEGER,
  reasoning_tokens  INTEGER,
  cached_tokens     INTEGER,
  first_text_ms     INTEGER,
  elapsed_ms        INTEGER,
  PRIMARY KEY(race_id, sent_seq),
  FOREIGN KEY(race_id, worker_id) REFERENCES workers ON DELETE CASCADE
) STRICT;
CREATE INDEX llm_calls_by_worker ON llm_calls(race_id, worker_id, round, attempt);

CREATE TABLE events(
  race_id TEXT NOT NULL REFERENCES races ON DELETE CASCADE,
  seq     INTEGER NOT NULL,
  at_us   INTEGER NOT NULL,
  kind    TEXT NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY(race_id, seq)
) STRICT;

CREATE VIEW race_list AS
  SELECT r.race_id, p.name AS problem, s.name AS stage, r.workers, r.rounds, r.accept,
         datetime(r.started_us / 1000000, 'unixepoch') AS started_utc,
         coalesce(r.end, 'running') AS end, r.reason, r.winner_worker, r.winner_round, r.standing,
         r.elapsed_us / 1000.0 AS elapsed_ms, r.decided_us / 1000.0 AS decided_ms,
         r.cancel_us / 1000.0 AS cancel_ms, r.quiet_us / 1000.0 AS quiet_ms,
         r.llm_calls, r.evaluations, r.input_tokens, r.output_tokens, r.artifact_path, r.run_dir
    FROM races r JOIN problems p ON p.digest = r.problem_digest JOIN stages s ON s.digest = r.stage_digest;

CREATE VIEW open_races AS
  SELECT race_id, run_dir, started_us, owner_pid, owner_start_ticks, owner_boot_id, owner_host, owner_heartbeat_us
    FROM races WHERE ended_us IS NULL;

CREATE VIEW worker_list AS
  SELECT w.race_id, w.worker_id, w.number, w.provider, w.model, w.variant, w.temperature, w.seed, w.node, w.starts,
         w.round, w.phase, w.end, w.reason,
         (SELECT count(*) FROM llm_calls c WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id) AS llm_calls,
         (SELECT count(*) FROM evaluations e WHERE e.race_id = w.race_id AND e.worker_id = w.worker_id) AS evaluations,
         (SELECT coalesce(sum(c.input_tokens), 0) FROM llm_calls c
           WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id) AS input_tokens,
         (SELECT coalesce(sum(c.output_tokens), 0) FROM llm_calls c
           WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id) AS output_tokens
    FROM workers w;

CREATE VIEW candidate_list AS
  SELECT e.race_id, e.seq, e.worker_id, e.round, e.attempt, e.outcome, e.claim, e.judgement, e.is_accepted, e.reason,
         e.elapsed_us / 1000.0 AS elapsed_ms, e.engine, e.sandbox_level, e.node, e.slot, e.digest, c.code
    FROM evaluations e LEFT JOIN candidates c ON c.digest = e.digest;

CREATE VIEW token_use AS
  SELECT race_id, provider, model, count(*) AS calls, sum(outcome = 'replied') AS replied,
         sum(outcome IS NULL) AS in_flight, coalesce(sum(input_tokens), 0) AS input_tokens,
         coalesce(sum(output_tokens), 0) AS output_tokens
    FROM llm_calls GROUP BY race_id, provider, model
)sql";

}  // namespace

std::string_view store_migration(std::int64_t from) {
  const std::array<std::string_view, 5> migrations = {store_schema_1, store_schema_2(), store_schema_3(),
                                                      store_schema_4(), store_schema_5()};
  static_assert(migrations.size() == static_cast<std::size_t>(store_schema_version));
  assert(from >= 0 && from < store_schema_version);
  return migrations[static_cast<std::size_t>(from)];
}

}  // namespace regatta
