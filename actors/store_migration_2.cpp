// SPDX-License-Identifier: Apache-2.0
#include "actors/store_migration_2.hpp"

namespace regatta {

namespace {

// Rows of version 1 know no price and no reservation: they cost nothing, and their tokens are those of the usage.
constexpr std::string_view text = R"sql(
DROP VIEW race_list;
DROP VIEW worker_list;
DROP VIEW token_use;

ALTER TABLE races ADD COLUMN cost INTEGER;
ALTER TABLE races ADD COLUMN reserved_cost INTEGER;
ALTER TABLE races ADD COLUMN lost_in_flight INTEGER;
ALTER TABLE races ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE races ADD COLUMN budget_money INTEGER NOT NULL DEFAULT 0;
ALTER TABLE races ADD COLUMN budget_tokens INTEGER NOT NULL DEFAULT 0;

CREATE TABLE processes(
  process_id  INTEGER PRIMARY KEY,
  pid         INTEGER NOT NULL,
  start_ticks INTEGER NOT NULL,
  boot_id     TEXT NOT NULL,
  host        TEXT NOT NULL,
  UNIQUE(host, boot_id, pid, start_ticks)
) STRICT;
INSERT INTO processes(pid, start_ticks, boot_id, host)
  SELECT DISTINCT owner_pid, owner_start_ticks, owner_boot_id, owner_host FROM races;

CREATE TABLE llm_calls_2(
  call              INTEGER PRIMARY KEY AUTOINCREMENT,
  race_id           TEXT NOT NULL,
  worker_id         TEXT NOT NULL,
  round             INTEGER NOT NULL,
  attempt           INTEGER NOT NULL,
  try               INTEGER NOT NULL,
  process_id        INTEGER NOT NULL REFERENCES processes,
  wire              TEXT NOT NULL,
  provider          TEXT NOT NULL,
  model             TEXT NOT NULL,
  temperature       REAL,
  seed              INTEGER,
  max_output_tokens INTEGER NOT NULL,
  reasoning_effort  TEXT NOT NULL,
  prompt_digest     TEXT NOT NULL,
  price_digest      TEXT NOT NULL DEFAULT '',
  reserved          INTEGER NOT NULL DEFAULT 0,
  reserved_tokens   INTEGER NOT NULL DEFAULT 0,
  day               TEXT NOT NULL,
  opened_us         INTEGER NOT NULL,
  closed_us         INTEGER,
  outcome           TEXT,
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
  cost              INTEGER NOT NULL DEFAULT 0,
  basis             TEXT NOT NULL DEFAULT 'none',
  charged_tokens    INTEGER NOT NULL DEFAULT 0,
  is_answer         INTEGER NOT NULL DEFAULT 0,
  reply             TEXT,
  FOREIGN KEY(race_id, worker_id) REFERENCES workers ON DELETE CASCADE
) STRICT;
INSERT INTO llm_calls_2(race_id, worker_id, round, attempt, try, process_id, wire, provider, model, temperature, seed,
    max_output_tokens, reasoning_effort, prompt_digest, day, opened_us, closed_us, outcome, reply, finish_reason,
    response_id, error, http_status, tries, input_tokens, output_tokens, reasoning_tokens, cached_tokens,
    first_text_ms, elapsed_ms, charged_tokens, is_answer)
  SELECT c.race_id, c.worker_id, c.round, c.attempt, 1, p.process_id, '', c.provider, c.model, c.temperature, c.seed,
         c.max_output_tokens, c.reasoning_effort, c.prompt_digest,
         strftime('%Y-%m-%d', c.sent_us / 1000000, 'unixepoch'), c.sent_us, c.ended_us, c.outcome, c.reply,
         c.finish_reason, c.response_id, c.error, c.http_status, c.tries, c.input_tokens, c.output_tokens,
         c.reasoning_tokens, c.cached_tokens, c.first_text_ms, c.elapsed_ms,
         coalesce(c.input_tokens, 0) + coalesce(c.output_tokens, 0), c.outcome IS NOT NULL
    FROM llm_calls c JOIN races r ON r.race_id = c.race_id
    JOIN processes p ON p.pid = r.owner_pid AND p.start_ticks = r.owner_start_ticks AND p.boot_id = r.owner_boot_id
         AND p.host = r.owner_host
   ORDER BY c.sent_us, c.race_id, c.sent_seq;
DROP TABLE llm_calls;
ALTER TABLE llm_calls_2 RENAME TO llm_calls;
CREATE INDEX llm_calls_by_key ON llm_calls(race_id, worker_id, round, attempt);
CREATE INDEX llm_calls_open ON llm_calls(process_id) WHERE closed_us IS NULL;
CREATE INDEX llm_calls_by_day ON llm_calls(day);

CREATE TABLE budget_totals(
  scope           TEXT NOT NULL,
  name            TEXT NOT NULL,
  calls           INTEGER NOT NULL,
  cost            INTEGER NOT NULL,
  tokens          INTEGER NOT NULL,
  open_calls      INTEGER NOT NULL,
  reserved        INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  PRIMARY KEY(scope, name)
) STRICT, WITHOUT ROWID;
INSERT INTO budget_totals
  SELECT 'race', race_id, count(*), 0, sum(charged_tokens), sum(closed_us IS NULL), 0, 0 FROM llm_calls
   GROUP BY race_id;
INSERT INTO budget_totals
  SELECT 'day', day, count(*), 0, sum(charged_tokens), sum(closed_us IS NULL), 0, 0 FROM llm_calls GROUP BY day;

CREATE TABLE past_spending(
  day            TEXT NOT NULL,
  provider       TEXT NOT NULL,
  model          TEXT NOT NULL,
  basis          TEXT NOT NULL,
  calls          INTEGER NOT NULL,
  cost           INTEGER NOT NULL,
  input_tokens   INTEGER NOT NULL,
  output_tokens  INTEGER NOT NULL,
  charged_tokens INTEGER NOT NULL,
  PRIMARY KEY(day, provider, model, basis)
) STRICT, WITHOUT ROWID;

CREATE VIEW race_list AS
  SELECT r.race_id, p.name AS problem, s.name AS stage, r.workers, r.rounds, r.accept,
         datetime(r.started_us / 1000000, 'unixepoch') AS started_utc,
         coalesce(r.end, 'running') AS end, r.reason, r.winner_worker, r.winner_round, r.standing,
         r.elapsed_us / 1000.0 AS elapsed_ms, r.decided_us / 1000.0 AS decided_ms,
         r.cancel_us / 1000.0 AS cancel_ms, r.quiet_us / 1000.0 AS quiet_ms,
         r.llm_calls, r.evaluations, r.input_tokens, r.output_tokens, r.artifact_path, r.run_dir,
         coalesce(t.cost, r.cost, 0) / 1e9 AS cost, coalesce(t.reserved, 0) / 1e9 AS reserved,
         coalesce(r.reserved_cost, 0) / 1e9 AS reserved_cost,
         (SELECT count(*) FROM llm_calls c WHERE c.race_id = r.race_id AND c.outcome = 'lost_in_flight')
           AS lost_in_flight,
         r.resumes
    FROM races r JOIN problems p ON p.digest = r.problem_digest JOIN stages s ON s.digest = r.stage_digest
    LEFT JOIN budget_totals t ON t.scope = 'race' AND t.name = r.race_id;

CREATE VIEW worker_list AS
  SELECT w.race_id, w.worker_id, w.number, w.provider, w.model, w.variant, w.temperature, w.seed, w.node, w.starts,
         w.round, w.phase, w.end, w.reason,
         (SELECT count(*) FROM llm_calls c WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id
             AND (c.is_answer OR c.closed_us IS NULL)) AS llm_calls,
         (SELECT count(*) FROM evaluations e WHERE e.race_id = w.race_id AND e.worker_id = w.worker_id) AS evaluations,
         (SELECT coalesce(sum(c.input_tokens), 0) FROM llm_calls c
           WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id) AS input_tokens,
         (SELECT coalesce(sum(c.output_tokens), 0) FROM llm_calls c
           WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id) AS output_tokens,
         (SELECT count(*) FROM llm_calls c WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id) AS tries,
         (SELECT coalesce(sum(c.cost), 0) / 1e9 FROM llm_calls c
           WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id) AS cost,
         (SELECT count(*) FROM llm_calls c WHERE c.race_id = w.race_id AND c.worker_id = w.worker_id
             AND c.outcome = 'lost_in_flight') AS lost_in_flight
    FROM workers w;

CREATE VIEW token_use AS
  SELECT race_id, provider, model, sum(is_answer OR closed_us IS NULL) AS calls,
         sum(is_answer AND outcome IS 'replied') AS replied, sum(closed_us IS NULL) AS in_flight,
         coalesce(sum(input_tokens), 0) AS input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens,
         count(*) AS tries, sum(cost) / 1e9 AS cost,
         coalesce(sum(reserved) FILTER(WHERE closed_us IS NULL), 0) / 1e9 AS reserved,
         coalesce(sum(cost) FILTER(WHERE basis = 'reserved'), 0) / 1e9 AS reserved_cost,
         sum(charged_tokens) AS charged_tokens, sum(outcome IS 'lost_in_flight') AS lost_in_flight
    FROM llm_calls GROUP BY race_id, provider, model;

CREATE VIEW spending AS
  SELECT day, provider, model, basis, sum(calls) AS calls, sum(cost) / 1e9 AS cost, sum(input_tokens) AS input_tokens,
         sum(output_tokens) AS output_tokens, sum(charged_tokens) AS charged_tokens
    FROM (SELECT day, provider, model, basis, calls, cost, input_tokens, output_tokens, charged_tokens
            FROM past_spending
          UNION ALL
          SELECT day, provider, model, basis, 1, cost, coalesce(input_tokens, 0), coalesce(output_tokens, 0),
                 charged_tokens
            FROM llm_calls WHERE closed_us IS NOT NULL)
   GROUP BY day, provider, model, basis;

CREATE VIEW ledger AS
  SELECT c.call, c.race_id, c.worker_id, c.round, c.attempt, c.try, c.wire, c.provider, c.model,
         datetime(c.opened_us / 1000000, 'unixepoch') AS opened_utc,
         datetime(c.closed_us / 1000000, 'unixepoch') AS closed_utc,
         coalesce(c.outcome, 'in flight') AS outcome, c.is_answer, c.http_status, c.error, c.finish_reason,
         c.response_id, c.input_tokens, c.output_tokens, c.reasoning_tokens, c.cached_tokens,
         c.reserved / 1e9 AS reserved, c.reserved_tokens, c.cost / 1e9 AS cost, c.basis, c.charged_tokens,
         c.elapsed_ms, c.prompt_digest, c.price_digest, p.host, p.pid
    FROM llm_calls c JOIN processes p ON p.process_id = c.process_id
)sql";

}  // namespace

std::string_view store_schema_2() {
  return text;
}

}  // namespace regatta
