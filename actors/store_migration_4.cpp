// SPDX-License-Identifier: Apache-2.0
#include "actors/store_migration_4.hpp"

namespace regatta {

namespace {

// Errors are the largest of all trials; JSON null where none was finite. `trials` has the seeds.
constexpr std::string_view schema_4_text = R"sql(
CREATE TABLE verdicts(
  race_id          TEXT NOT NULL,
  seq              INTEGER NOT NULL,
  judge_version    INTEGER,
  judgement        TEXT NOT NULL,
  reason           TEXT NOT NULL,
  candidate_digest TEXT NOT NULL,
  problem_digest   TEXT NOT NULL,
  engine           TEXT NOT NULL,
  gpu_uuid         TEXT NOT NULL,
  mode             TEXT,
  weights          TEXT,
  kernel_evidence  TEXT,
  marks            TEXT,
  weak             TEXT,
  tightened        TEXT,
  tolerances       TEXT,
  trials           TEXT,
  trial_count      INTEGER NOT NULL,
  worst_abs        REAL,
  worst_rel        REAL,
  norm             REAL,
  eager_norm       REAL,
  compiled         TEXT,
  reference        TEXT,
  candidate        TEXT,
  PRIMARY KEY(race_id, seq),
  FOREIGN KEY(race_id, seq) REFERENCES evaluations ON DELETE CASCADE
) STRICT;
CREATE INDEX verdicts_by_candidate ON verdicts(candidate_digest, problem_digest);

CREATE VIEW verdict_list AS
  SELECT v.race_id, v.seq, e.worker_id, e.round, e.attempt, v.judgement, v.reason, v.engine, v.gpu_uuid, v.kernel_evidence,
         v.marks, v.tightened, v.compiled, v.trial_count, v.worst_abs, v.worst_rel, v.norm, v.eager_norm, v.judge_version,
         v.candidate_digest, v.problem_digest
    FROM verdicts v JOIN evaluations e ON e.race_id = v.race_id AND e.seq = v.seq
)sql";

}  // namespace

std::string_view store_schema_4() {
  return schema_4_text;
}

}  // namespace regatta
