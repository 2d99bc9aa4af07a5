// SPDX-License-Identifier: Apache-2.0
#include "actors/store_reader.hpp"

#include "actors/store_owner.hpp"
#include "actors/store_schema.hpp"

#include <utility>

namespace regatta {

namespace {

constexpr std::string_view race_query =
    "SELECT r.race_id, p.name, r.problem_path, r.problem_digest, s.name, r.accept, r.run_dir, r.version, r.workers, "
    "r.rounds, r.started_us, r.ended_us, r.end, r.reason, r.winner_worker, r.winner_round, r.winner_digest, "
    "r.standing, r.artifact_path, r.decided_us, r.cancel_us, r.quiet_us, r.elapsed_us, "
    "coalesce(r.input_tokens, (SELECT sum(c.input_tokens) FROM llm_calls c WHERE c.race_id = r.race_id)), "
    "coalesce(r.output_tokens, (SELECT sum(c.output_tokens) FROM llm_calls c WHERE c.race_id = r.race_id)), "
    "coalesce(r.llm_calls, (SELECT sum(c.is_answer OR c.closed_us IS NULL) FROM llm_calls c "
    "WHERE c.race_id = r.race_id)), "
    "coalesce(r.evaluations, (SELECT count(*) FROM evaluations e WHERE e.race_id = r.race_id)), r.runners_up, "
    "coalesce(t.cost, r.cost, 0), "
    "coalesce(r.reserved_cost, (SELECT sum(c.cost) FROM llm_calls c WHERE c.race_id = r.race_id "
    "AND c.basis = 'reserved'), 0), coalesce(t.reserved, 0), "
    "max(coalesce(r.lost_in_flight, 0), (SELECT count(*) FROM llm_calls c WHERE c.race_id = r.race_id "
    "AND c.outcome = 'lost_in_flight')), r.resumes, r.budget_money, r.budget_tokens, r.currency, "
    "r.last_seq, r.owner_pid, r.owner_start_ticks, "
    "r.owner_boot_id, r.owner_host, r.owner_heartbeat_us FROM races r JOIN problems p ON p.digest = r.problem_digest "
    "JOIN stages s ON s.digest = r.stage_digest "
    "LEFT JOIN budget_totals t ON t.scope = 'race' AND t.name = r.race_id ";

race_row read_race(result_row& row) {
  race_row x;
  row.read(x.race, x.problem, x.problem_path, x.problem_digest, x.stage, x.accept, x.run_dir, x.version, x.workers,
           x.rounds, x.started_us, x.ended_us, x.end, x.reason, x.winner, x.winner_round, x.winner_digest, x.standing,
           x.artifact_path, x.decided, x.cancelled, x.quiet, x.elapsed, x.input_tokens, x.output_tokens, x.llm_calls,
           x.evaluations, x.runners_up, x.cost, x.reserved_cost, x.in_flight, x.lost_in_flight, x.resumes,
           x.budget.money, x.budget.tokens, x.currency, x.last_seq, x.owner.pid, x.owner.start_ticks, x.owner.boot_id,
           x.owner.host, x.owner.heartbeat_us);
  x.is_running = x.end.empty() && may_be_alive({x.owner.pid, x.owner.start_ticks, x.owner.boot_id, x.owner.host});
  return x;
}

worker_row read_worker(result_row& row) {
  worker_row x;
  auto& choice = x.choice;
  row.read(x.worker, x.number, x.variant, choice.provider, choice.model, choice.temperature, choice.seed,
           choice.max_output_tokens, choice.reasoning_effort, x.node, x.starts, x.round, x.phase, x.note, x.end,
           x.reason, x.started_us, x.ended_us, x.llm_calls, x.evaluations, x.input_tokens, x.output_tokens, x.cost,
           x.lost_in_flight);
  return x;
}

round_row read_round(result_row& row) {
  round_row x;
  std::int64_t has_won = 0;
  std::int64_t was_accepted = 0;
  row.read(x.worker, x.round, x.extraction, x.extraction_note, x.digest, x.duplicate, x.duplicate_of, x.why, has_won,
           was_accepted);
  x.has_won = has_won != 0;
  x.was_accepted = was_accepted != 0;
  return x;
}

evaluation_row read_evaluation(result_row& row) {
  evaluation_row x;
  std::int64_t is_accepted = 0;
  row.read(x.worker, x.round, x.attempt, x.digest, x.outcome, x.claim, x.judgement, is_accepted, x.exit_code, x.signal,
           x.reason, x.node, x.slot, x.gpu_uuid, x.engine, x.sandbox_level, x.started_us, x.queued, x.elapsed,
           x.killed_in, x.cpu_time, x.peak_memory, x.judge_version, x.kernel_evidence, x.marks, x.tightened,
           x.tolerances, x.trials, x.compiled, x.trial_count, x.worst_rel, x.norm, x.eager_norm);
  x.is_accepted = is_accepted != 0;
  return x;
}

llm_call_row read_llm_call(result_row& row) {
  llm_call_row x;
  auto& choice = x.choice;
  auto& usage = x.usage;
  row.read(x.call, x.worker, x.round, x.attempt, x.try_number, x.wire, choice.provider, choice.model,
           choice.temperature, choice.seed, choice.max_output_tokens, choice.reasoning_effort, x.prompt_digest, x.outcome, x.finish_reason, x.error,
           x.http_status, x.tries, usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cached_tokens,
           x.sent_us, x.first_text, x.elapsed, x.reserved, x.cost, x.basis, x.charged_tokens, x.is_answer);
  return x;
}

reply_row read_reply(result_row& row) {
  reply_row x;
  std::string outcome;
  auto& usage = x.usage;
  row.read(x.worker, x.round, x.attempt, outcome, x.text, x.finish_reason, x.response_id, x.error, x.http_status,
           usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cached_tokens,
           usage.cache_written_tokens);
  x.outcome = from_name<llm_outcome>(outcome).value_or(llm_outcome::malformed);
  return x;
}

template <class Row, class... Ts>
caf::error collect(database& db, std::vector<Row>& out, Row (*read)(result_row&), const std::string& sql,
                   const Ts&... xs) {
  return db.each(
      sql, [&](result_row& row) { out.push_back(read(row)); }, xs...);
}

caf::error read_unconfirmed(database& db, race_row& race) {
  const auto use = [&](result_row& row) { row.read(race.unconfirmed_nodes.emplace_back()); };
  return db.each("SELECT j.value FROM races r, json_each(coalesce(r.unconfirmed_nodes, '[]')) j WHERE r.race_id = ?",
                 use, race.race);
}

/// With a timing: a baseline of the very same device and settings; without: the latest of the problem.
caf::error read_timing(database& db, const race_id& race, timing_row& out) {
  const auto use = [&](result_row& row) { row.read(out.status, out.reason, out.record); };
  auto error = db.each("SELECT status, reason, record FROM timings WHERE race_id = ?", use, race);
  const auto base = [&](result_row& row) {
    row.read(out.baseline_ms, out.baseline_device, out.baseline_us, out.baseline_race);
  };
  return error ? error
               : db.each("SELECT u.reference_ms, u.device, u.at_us, u.race_id FROM timings u JOIN races r "
                         "ON r.race_id = ?1 AND u.problem_digest = r.problem_digest LEFT JOIN timings t "
                         "ON t.race_id = ?1 WHERE u.race_id <> ?1 AND u.reference_ms > 0 AND u.at_us < coalesce(t.at_us, "
                         "r.ended_us, 9e15) AND (t.device IS NULL OR (u.device IS t.device AND u.torch IS t.torch AND "
                         "u.mode IS t.mode AND u.dtypes IS t.dtypes AND u.allow_tf32 IS t.allow_tf32)) "
                         "ORDER BY u.at_us DESC, u.race_id DESC LIMIT 1",
                         base, race);
}

caf::error read_lists(database& db, race_record& out) {
  const auto& race = out.race.race;
  auto error = collect(db, out.workers, &read_worker,
                       "SELECT w.worker_id, w.number, w.variant, w.provider, w.model, w.temperature, w.seed, "
                       "w.max_output_tokens, w.reasoning_effort, w.node, w.starts, w.round, w.phase, w.note, w.end, "
                       "w.reason, w.started_us, w.ended_us, l.llm_calls, l.evaluations, l.input_tokens, "
                       "l.output_tokens, (SELECT coalesce(sum(c.cost), 0) FROM llm_calls c WHERE "
                       "c.race_id = w.race_id AND c.worker_id = w.worker_id), l.lost_in_flight FROM workers w JOIN worker_list l USING(race_id, worker_id) "
                       "WHERE w.race_id = ? ORDER BY w.number",
                       race);
  error = error ? error
                : collect(db, out.rounds, &read_round,
                          "SELECT worker_id, round, extraction, extraction_note, digest, duplicate, duplicate_of, "
                          "why, has_won, was_accepted FROM rounds WHERE race_id = ? ORDER BY started_us, worker_id",
                          race);
  error = error ? error
                : collect(db, out.evaluations, &read_evaluation,
                          "SELECT e.worker_id, e.round, e.attempt, e.digest, e.outcome, e.claim, e.judgement, "
                          "e.is_accepted, e.exit_code, e.signal, e.reason, e.node, e.slot, e.gpu_uuid, e.engine, "
                          "e.sandbox_level, e.started_us, e.queued_us, e.elapsed_us, e.killed_in_us, e.cpu_us, "
                          "e.peak_memory, v.judge_version, v.kernel_evidence, v.marks, v.tightened, v.tolerances, "
                          "v.trials, v.compiled, v.trial_count, v.worst_rel, v.norm, v.eager_norm FROM evaluations e "
                          "LEFT JOIN verdicts v ON v.race_id = e.race_id AND v.seq = e.seq "
                          "WHERE e.race_id = ? ORDER BY e.seq",
                          race);
  return error ? error
               : collect(db, out.llm_calls, &read_llm_call,
                         "SELECT call, worker_id, round, attempt, try, wire, provider, model, temperature, seed, "
                         "max_output_tokens, reasoning_effort, prompt_digest, outcome, finish_reason, error, "
                         "http_status, tries, input_tokens, output_tokens, reasoning_tokens, cached_tokens, opened_us, "
                         "first_text_ms, elapsed_ms, reserved, cost, basis, charged_tokens, is_answer FROM llm_calls "
                         "WHERE race_id = ? ORDER BY call",
                         race);
}

std::string some_of(const std::vector<std::string>& ids) {
  constexpr std::size_t shown = 3;
  std::string out;
  for (std::size_t i = 0; i < ids.size() && i < shown; ++i) {
    out += (i == 0 ? "" : ", ") + ids[i];
  }
  return out + (ids.size() > shown ? " ..." : "");
}

}  // namespace

store_reader::store_reader(std::unique_ptr<database> db) : db_{std::move(db)} {}
store_reader::store_reader(store_reader&&) noexcept = default;
store_reader& store_reader::operator=(store_reader&&) noexcept = default;
store_reader::~store_reader() = default;

caf::expected<store_reader> store_reader::open(const std::string& state_dir) {
  auto db = open_store_read_only(state_dir);
  if (!db) {
    return std::move(db.error());
  }
  return store_reader{std::move(*db)};
}

caf::expected<std::vector<race_row>> store_reader::list_races(std::uint32_t limit) {
  std::vector<race_row> out;
  auto error = collect(*db_, out, &read_race,
                       std::string{race_query} + "ORDER BY r.started_us DESC, r.race_id DESC LIMIT ?", limit);
  for (auto& race : out) {
    error = error ? error : read_unconfirmed(*db_, race);
  }
  if (error) {
    return error;
  }
  return out;
}

caf::expected<race_id> store_reader::find_race(std::string_view run) {
  std::vector<std::string> ids;
  const auto use = [&](result_row& row) { row.read(ids.emplace_back()); };
  const auto error = run == "latest"
                         ? db_->each("SELECT race_id FROM races ORDER BY started_us DESC, race_id DESC LIMIT 1", use)
                         : db_->each(
                               "SELECT race_id FROM races WHERE race_id = ?1 OR substr(race_id, 1, length(?1)) = ?1 "
                               "ORDER BY race_id <> ?1, race_id LIMIT 4",
                               use, run);
  if (error) {
    return error;
  }
  if (ids.size() == 1 || (!ids.empty() && ids.front() == run)) {
    return race_id{ids.front()};
  }
  return fail(ec::not_found, ids.empty() ? "no race \"" + std::string{run} + "\" in this store"
                                         : "\"" + std::string{run} + "\" may mean " + some_of(ids));
}

caf::expected<race_record> store_reader::load_race(const race_id& race) {
  // All queries see one state, whatever is written meanwhile.
  if (auto error = db_->script("BEGIN")) {
    return error;
  }
  race_record out;
  std::vector<race_row> found;
  auto error = collect(*db_, found, &read_race, std::string{race_query} + "WHERE r.race_id = ?", race);
  if (!error && found.empty()) {
    error = fail(ec::unknown_race, race.text);
  }
  if (!error) {
    out.race = std::move(found.front());
    error = read_unconfirmed(*db_, out.race);
  }
  error = error ? error : read_timing(*db_, race, out.timing);
  error = error ? error : read_lists(*db_, out);
  static_cast<void>(db_->script("COMMIT"));
  if (error) {
    return error;
  }
  return out;
}

caf::expected<std::vector<reply_row>> store_reader::load_replies(const race_id& race) {
  std::vector<reply_row> out;
  if (auto error = collect(*db_, out, &read_reply,
                           "SELECT w.number, c.round, c.attempt, c.outcome, c.reply, c.finish_reason, c.response_id, "
                           "c.error, c.http_status, c.input_tokens, c.output_tokens, c.reasoning_tokens, "
                           "c.cached_tokens, c.cache_written_tokens FROM llm_calls c JOIN workers w USING(race_id, worker_id) "
                           "WHERE c.race_id = ? AND c.is_answer = 1 ORDER BY c.call",
                           race)) {
    return error;
  }
  return out;
}

caf::expected<std::string> store_reader::load_candidate(const source_digest& digest) {
  std::vector<std::string> found;
  const auto use = [&](result_row& row) { row.read(found.emplace_back()); };
  if (auto error = db_->each("SELECT code FROM candidates WHERE digest = ?", use, digest)) {
    return error;
  }
  if (found.empty()) {
    return fail(ec::not_found, "no candidate " + digest.text + " in this store");
  }
  return std::move(found.front());
}

}  // namespace regatta
