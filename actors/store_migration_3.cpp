// SPDX-License-Identifier: Apache-2.0
#include "actors/store_migration_3.hpp"

namespace regatta {

namespace {

// Nobody knows any more in which currency the prices of earlier races were.
constexpr std::string_view schema_3_text = R"sql(
DROP VIEW race_list;
DROP VIEW ledger;

ALTER TABLE races ADD COLUMN currency TEXT NOT NULL DEFAULT '';
ALTER TABLE llm_calls ADD COLUMN cache_written_tokens INTEGER;

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
         r.resumes, r.currency
    FROM races r JOIN problems p ON p.digest = r.problem_digest JOIN stages s ON s.digest = r.stage_digest
    LEFT JOIN budget_totals t ON t.scope = 'race' AND t.name = r.race_id;

CREATE VIEW ledger AS
  SELECT c.call, c.race_id, c.worker_id, c.round, c.attempt, c.try, c.wire, c.provider, c.model,
         datetime(c.opened_us / 1000000, 'unixepoch') AS opened_utc,
         datetime(c.closed_us / 1000000, 'unixepoch') AS closed_utc,
         coalesce(c.outcome, 'in flight') AS outcome, c.is_answer, c.http_status, c.error, c.finish_reason,
         c.response_id, c.input_tokens, c.output_tokens, c.reasoning_tokens, c.cached_tokens,
         c.reserved / 1e9 AS reserved, c.reserved_tokens, c.cost / 1e9 AS cost, c.basis, c.charged_tokens,
         c.elapsed_ms, c.prompt_digest, c.price_digest, p.host, p.pid,
         c.cache_written_tokens
    FROM llm_calls c JOIN processes p ON p.process_id = c.process_id
)sql";

}  // namespace

std::string_view store_schema_3() {
  return schema_3_text;
}

}  // namespace regatta
