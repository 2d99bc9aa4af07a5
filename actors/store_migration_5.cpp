// SPDX-License-Identifier: Apache-2.0
#include "actors/store_migration_5.hpp"

namespace regatta {

namespace {

// A baseline is the reference's own time. It holds for the same problem, device, torch and settings only, and of these the
// last one that was measured counts.
constexpr std::string_view schema_5_text = R"sql(
CREATE TABLE timings(
  race_id        TEXT PRIMARY KEY REFERENCES races ON DELETE CASCADE,
  at_us          INTEGER NOT NULL,
  status         TEXT NOT NULL,
  reason         TEXT NOT NULL,
  problem_digest TEXT NOT NULL,
  device         TEXT,
  torch          TEXT,
  mode           TEXT,
  dtypes         TEXT,
  allow_tf32     INTEGER,
  reference_ms   REAL,
  candidate_ms   REAL,
  speedup        REAL,
  flags          TEXT,
  record         TEXT NOT NULL
) STRICT;
CREATE INDEX timings_by_problem ON timings(problem_digest, at_us);

CREATE VIEW baselines AS
  SELECT problem_digest, device, torch, mode, dtypes, allow_tf32, reference_ms, at_us, race_id
    FROM timings t
   WHERE reference_ms > 0 AND NOT EXISTS(
     SELECT 1 FROM timings u
      WHERE u.reference_ms > 0 AND u.problem_digest = t.problem_digest AND u.device IS t.device AND u.torch IS t.torch
        AND u.mode IS t.mode AND u.dtypes IS t.dtypes AND u.allow_tf32 IS t.allow_tf32
        AND (u.at_us > t.at_us OR (u.at_us = t.at_us AND u.race_id > t.race_id)))
)sql";

}  // namespace

std::string_view store_schema_5() {
  return schema_5_text;
}

}  // namespace regatta
