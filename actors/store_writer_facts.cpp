// SPDX-License-Identifier: Apache-2.0
// What each fact changes in the tables.
#include "actors/store_writer.hpp"
#include "messages/codec.hpp"
#include "messages/event_codec.hpp"

namespace regatta {

caf::error store_writer::on(const event& x, const race_started& body) {
  const auto& spec = body.spec;
  auto error = db_->execute("INSERT INTO problems(digest, name, path, text) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING",
                            spec.problem.digest, spec.problem.name, spec.problem.path, spec.problem.text);
  error = error ? error
                : db_->execute("INSERT INTO stages(digest, name) VALUES(?, ?) ON CONFLICT DO NOTHING",
                               spec.stage.digest, spec.stage.name);
  if (error) {
    return error;
  }
  error = db_->execute(
      "INSERT INTO races(race_id, problem_digest, problem_path, stage_digest, accept, on_duplicate, device, workers, "
      "rounds, deadline_s, run_dir, version, started_us, owner_pid, owner_start_ticks, owner_boot_id, owner_host, "
      "owner_heartbeat_us, budget_money, budget_tokens, currency) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT(race_id) DO UPDATE SET owner_pid = owner_pid WHERE started_us = excluded.started_us AND "
      "owner_pid = excluded.owner_pid AND owner_start_ticks = excluded.owner_start_ticks",
      x.race, spec.problem.digest, spec.problem.path, spec.stage.digest, spec.accept, spec.on_duplicate, spec.device,
      spec.workers.size(), spec.rounds, spec.deadline, state_dir_ + "/" + x.race.text, body.version, x.at_us,
      owner_.pid, owner_.start_ticks, owner_.boot_id, owner_.host, x.at_us,
      spec.budget.money, bounded(spec.budget.tokens), spec.currency);
  if (!error && db_->changes() == 0) {
    strangers_.insert(x.race);
    return fail(ec::store_failed, "the store has another race with the id " + x.race.text);
  }
  for (const auto& worker : spec.workers) {
    if (error) {
      break;
    }
    const auto& choice = worker.choice;
    error = db_->execute(
        "INSERT INTO workers(race_id, worker_id, number, variant, provider, model, temperature, seed, "
        "max_output_tokens, reasoning_effort) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        x.race, worker.worker, worker.number, worker.variant, choice.provider, choice.model, choice.temperature,
        choice.seed, choice.max_output_tokens, choice.reasoning_effort);
  }
  return error;
}

caf::error store_writer::on(const event& x, const worker_started& body) {
  return change(
      "UPDATE workers SET node = ?, starts = ?, round = ?, variant = ?, phase = 'starting', note = NULL, "
      "started_us = coalesce(started_us, ?), ended_us = NULL, end = NULL, reason = NULL "
      "WHERE race_id = ? AND worker_id = ?",
      body.node, body.start, body.round, body.variant, x.at_us, x.race, body.worker);
}

caf::error store_writer::on(const event& x, const worker_moved& body) {
  return change("UPDATE workers SET round = ?, phase = ?, note = ? WHERE race_id = ? AND worker_id = ?", body.round,
                body.phase, body.note, x.race, body.worker);
}

/// Calls themselves are the ledger's.
caf::error store_writer::on(const event& x, const prompt_sent& body) {
  return touch_round(x, body.worker, body.round);
}

caf::error store_writer::on(const event&, const reply_delta&) {
  return {};
}

caf::error store_writer::on(const event&, const reply_ended&) {
  return {};
}

caf::error store_writer::on(const event& x, const code_extracted& body) {
  auto error = touch_round(x, body.worker, body.round);
  if (!error && !body.digest.empty()) {
    error = put_candidate(body.digest, body.code);
  }
  return error ? error
               : change(
                     "UPDATE rounds SET extraction = ?, extraction_note = ?, digest = ? "
                     "WHERE race_id = ? AND worker_id = ? AND round = ?",
                     body.result, body.note, body.digest, x.race, body.worker, body.round);
}

caf::error store_writer::on(const event& x, const candidate_reserved& body) {
  auto error = touch_round(x, body.worker, body.round);
  return error ? error
               : change(
                     "UPDATE rounds SET digest = ?, duplicate = ?, duplicate_of = ? "
                     "WHERE race_id = ? AND worker_id = ? AND round = ?",
                     body.digest, body.duplicate,
                     body.duplicate == duplicate::unique ? std::nullopt : std::optional{body.owner}, x.race,
                     body.worker, body.round);
}

/// As SQLite takes the record apart; what it does not have is null.
caf::error store_writer::put_verdict(const event& x, const candidate_evaluated& body) {
  const auto& result = body.result;
  if (result.judge_record.empty()) {
    return {};
  }
  return db_->execute(
      "INSERT INTO verdicts(race_id, seq, judge_version, judgement, reason, candidate_digest, problem_digest, engine, gpu_uuid, "
      "mode, weights, kernel_evidence, marks, weak, tightened, tolerances, trials, trial_count, worst_abs, worst_rel, norm, "
      "eager_norm, compiled, reference, candidate) "
      "SELECT ?1, ?2, json_extract(j, '$.judge_version'), ?3, ?4, ?5, coalesce(nullif(json_extract(j, '$.problem_sha256'), ''), "
      "r.problem_digest), ?6, ?7, json_extract(j, '$.mode'), json_extract(j, '$.weights'), json_extract(j, '$.kernel_evidence'), "
      "json_extract(j, '$.marks'), json_extract(j, '$.weak'), json_extract(j, '$.tightened'), json_extract(j, '$.tolerances'), "
      "json_extract(j, '$.trials'), coalesce(json_array_length(j, '$.trials'), 0), "
      "(SELECT max(json_extract(value, '$.worst_abs')) FROM json_each(j, '$.trials')), "
      "(SELECT max(json_extract(value, '$.worst_rel')) FROM json_each(j, '$.trials')), "
      "(SELECT max(json_extract(value, '$.norm')) FROM json_each(j, '$.trials')), "
      "(SELECT max(json_extract(value, '$.eager_norm')) FROM json_each(j, '$.trials')), "
      "json_extract(j, '$.compiled'), json_extract(j, '$.reference'), json_extract(j, '$.candidate') "
      "FROM races r, (SELECT CASE WHEN json_valid(?8) THEN ?8 ELSE '{}' END AS j) WHERE r.race_id = ?1",
      x.race, x.seq, result.judgement, result.reason, body.digest, result.engine, result.gpu_uuid, result.judge_record);
}

caf::error store_writer::on(const event& x, const candidate_evaluated& body) {
  const auto& result = body.result;
  auto error = touch_round(x, body.worker, body.round);
  if (!error) {
    error = db_->execute(
        "INSERT INTO evaluations(race_id, seq, worker_id, round, attempt, digest, outcome, claim, judgement, "
        "is_accepted, exit_code, signal, reason, stdout_bytes, stderr_bytes, started_us, queued_us, elapsed_us, "
        "killed_in_us, cpu_us, peak_memory, node, slot, gpu_uuid, engine, sandbox_level, sandbox_engine, is_warm, "
        "python) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        x.race, x.seq, body.worker, body.round, body.attempt, body.digest, result.outcome, result.claim,
        result.judgement, body.is_accepted, result.exit_code, result.signal, result.reason, result.stdout_bytes,
        result.stderr_bytes, result.started_us, result.queued, result.elapsed, result.killed_in, result.cpu_time,
        result.peak_memory, result.node, result.slot, result.gpu_uuid, result.engine, result.sandbox_level,
        result.sandbox_engine, result.is_warm, result.python);
  }
  error = error ? error : put_verdict(x, body);
  for (const auto& file : result.kept) {
    if (error) {
      break;
    }
    const auto content = file.problem.empty() ? std::optional{blob_view{file.content}} : std::nullopt;
    error = db_->execute("INSERT INTO artifacts(race_id, seq, name, content, problem) VALUES(?, ?, ?, ?, ?)", x.race,
                         x.seq, file.name, content, file.problem);
  }
  return error;
}

caf::error store_writer::on(const event& x, const round_failed& body) {
  auto error = touch_round(x, body.worker, body.round);
  return error ? error
               : change(
                     "UPDATE rounds SET why = ?, error_context = ?, ended_us = ? "
                     "WHERE race_id = ? AND worker_id = ? AND round = ?",
                     body.why, body.error_context, x.at_us, x.race, body.worker, body.round);
}

caf::error store_writer::on(const event& x, const worker_finished& body) {
  return change(
      "UPDATE workers SET phase = 'ended', note = NULL, end = ?, reason = ?, ended_us = ? "
      "WHERE race_id = ? AND worker_id = ?",
      body.end, body.reason, x.at_us, x.race, body.worker);
}

caf::error store_writer::on(const event& x, const winner_decided& body) {
  auto error = touch_round(x, body.worker, body.round);
  error = error ? error : put_candidate(body.digest, body.code);
  error = error ? error
                : change(
                      "UPDATE rounds SET has_won = 1, was_accepted = 1, digest = ?, ended_us = ? "
                      "WHERE race_id = ? AND worker_id = ? AND round = ?",
                      body.digest, x.at_us, x.race, body.worker, body.round);
  return error ? error
               : change(
                     "UPDATE races SET winner_worker = ?, winner_round = ?, winner_digest = ?, standing = ? "
                     "WHERE race_id = ?",
                     body.worker, body.round, body.digest, body.standing, x.race);
}

caf::error store_writer::on(const event& x, const runner_up& body) {
  auto error = touch_round(x, body.worker, body.round);
  return error ? error
               : change(
                     "UPDATE rounds SET was_accepted = 1, digest = ?, ended_us = ? "
                     "WHERE race_id = ? AND worker_id = ? AND round = ?",
                     body.digest, x.at_us, x.race, body.worker, body.round);
}

caf::error store_writer::on(const event& x, const race_cancelled& body) {
  return change("UPDATE races SET cancel_why = ? WHERE race_id = ?", body.why, x.race);
}

/// What the record of a timing says is taken apart by SQLite, so that queries need not.
caf::error store_writer::put_timing(const event& x, const race_ended& body) {
  if (body.timing.empty() && body.not_timed.empty()) {
    return {};
  }
  const bool is_done = !body.timing.empty();
  return db_->execute(
      "INSERT OR REPLACE INTO timings(race_id, at_us, status, reason, problem_digest, device, torch, mode, dtypes, "
      "allow_tf32, reference_ms, candidate_ms, speedup, flags, record) "
      "SELECT ?1, ?2, coalesce(j ->> '$.status', 'not_done'), coalesce(nullif(?3, ''), j ->> '$.reason', ''), "
      "r.problem_digest, j ->> '$.device', j ->> '$.reference.torch', j ->> '$.mode', j ->> '$.dtypes', "
      "j ->> '$.allow_tf32', j ->> '$.reference_ms.median', j ->> '$.candidate_ms.median', j ->> '$.speedup.median', "
      "j ->> '$.flags', ?4 FROM races r, (SELECT CASE WHEN json_valid(?4) THEN ?4 ELSE '{}' END AS j) "
      "WHERE r.race_id = ?1",
      x.race, x.at_us, body.not_timed, is_done ? body.timing : std::string{"{}"});
}

caf::error store_writer::on(const event& x, const race_ended& body) {
  if (auto error = put_timing(x, body)) {
    return error;
  }
  return change(
      "UPDATE races SET ended_us = ?, end = ?, reason = ?, decided_us = ?, cancel_us = ?, quiet_us = ?, "
      "elapsed_us = ?, input_tokens = ?, output_tokens = ?, llm_calls = ?, evaluations = ?, runners_up = ?, "
      "cost = ?, reserved_cost = ?, lost_in_flight = ?, resumes = max(resumes, ?), unconfirmed_nodes = ? "
      "WHERE race_id = ?",
      x.at_us, body.end, body.reason, body.decided, body.cancelled, body.quiet, body.elapsed, body.input_tokens,
      body.output_tokens, body.llm_calls, body.evaluations, body.runners_up, body.cost,
      body.reserved_cost, body.lost_in_flight, body.resumes, msgpack_to_json(encode(body.unconfirmed_nodes)), x.race);
}

caf::error store_writer::on(const event& x, const race_resumed& body) {
  if (auto error = ledger_.settle_race(*db_, x.race, x.at_us)) {
    return error;
  }
  return change(
      "UPDATE races SET ended_us = NULL, end = NULL, reason = NULL, cancel_why = NULL, rounds = ?, deadline_s = ?, "
      "budget_money = ?, budget_tokens = ?, resumes = ?, owner_pid = ?, owner_start_ticks = ?, owner_boot_id = ?, "
      "owner_host = ?, owner_heartbeat_us = ? WHERE race_id = ?",
      body.rounds, body.deadline, body.budget.money, bounded(body.budget.tokens), body.resumes, owner_.pid,
      owner_.start_ticks, owner_.boot_id, owner_.host, x.at_us, x.race);
}

caf::error store_writer::touch_round(const event& x, const worker_id& worker, std::uint32_t round) {
  return db_->execute(
      "INSERT INTO rounds(race_id, worker_id, round, started_us) VALUES(?, ?, ?, ?) "
      "ON CONFLICT DO NOTHING",
      x.race, worker, round, x.at_us);
}

caf::error store_writer::put_candidate(const source_digest& digest, const std::string& code) {
  return db_->execute("INSERT INTO candidates(digest, code) VALUES(?, ?) ON CONFLICT DO NOTHING", digest, code);
}

}  // namespace regatta
