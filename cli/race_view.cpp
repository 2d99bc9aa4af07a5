// SPDX-License-Identifier: Apache-2.0
#include "cli/race_view.hpp"

#include "cli/terminal_text.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace regatta::cli {

std::string verdict_line(const evaluation& x) {
  std::string out = to_string(x.outcome);
  if (x.judgement != judgement::not_judged) {
    out = "judged " + to_string(x.judgement) + (x.claim == claim::none ? "" : ", says PASS");
  } else if (x.claim != claim::none) {
    out += x.claim == claim::run_tests ? ", says PASS" : ", says ALL_TESTS_PASSED";
  } else if (x.outcome == outcome::exited) {
    out += ", never says PASS";
  }
  const auto reason = clean_line(x.reason);
  return reason.empty() || x.outcome == outcome::exited ? out : out + ": " + reason;
}

void race_view::begin_at(const race_standing_record& from, std::int64_t now_us) {
  apply(event{1, from.standing.last_seq, now_us, from.spec.race, race_started{from.spec, from.version}});
  for (const auto& x : from.standing.workers) {
    if (auto* row = find(x.worker)) {
      row->round = std::min(x.progress.round, from.spec.rounds);
      row->starts = x.starts;
    }
    if (x.has_ended) {
      on(worker_finished{x.worker, x.starts, x.end, x.reason});
    }
  }
}

std::string race_view::reuse_line() const {
  const auto counted = [](std::uint32_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
  };
  return "Resumed: " + counted(former_evaluations_, "evaluation was", "evaluations were") + " on record, " +
         counted(known_replies_, "paid reply", "paid replies") + " taken from the ledger, " +
         counted(lost_calls_, "call", "calls") + " lost in flight\n";
}

void race_view::apply(const event& x) {
  now_us_ = x.at_us;
  record_.race.last_seq = x.seq;
  if (record_.race.race.empty()) {
    record_.race.race = x.race;
  }
  std::visit([this](const auto& body) { on(body); }, x.body);
}

void race_view::apply(const race_closed& x) {
  record_.race.artifact_path = x.artifact_path;
}

worker_row* race_view::find(const worker_id& worker) {
  auto& all = record_.workers;
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.worker == worker; });
  return it == all.end() ? nullptr : &*it;
}

round_row& race_view::round_of(const worker_id& worker, std::uint32_t round) {
  auto& all = record_.rounds;
  const auto it =
      std::find_if(all.rbegin(), all.rend(), [&](const auto& x) { return x.worker == worker && x.round == round; });
  if (it != all.rend()) {
    return *it;
  }
  auto& out = all.emplace_back();
  out.worker = worker;
  out.round = round;
  return out;
}

void race_view::say(const worker_id& worker, std::string text) {
  if (const auto* row = find(worker)) {
    last_words_[static_cast<std::size_t>(row - record_.workers.data())] = std::move(text);
  }
}

void race_view::on(const race_started& x) {
  auto& race = record_.race;
  race.race = x.spec.race;
  race.problem = x.spec.problem.name;
  race.problem_path = x.spec.problem.path;
  race.problem_digest = x.spec.problem.digest;
  race.stage = x.spec.stage.name;
  race.accept = to_string(x.spec.accept);
  wants_timing_ = x.spec.judging.wants_timing;
  race.run_dir = x.spec.run_dir;
  race.version = x.version;
  race.workers = static_cast<std::uint32_t>(x.spec.workers.size());
  race.rounds = x.spec.rounds;
  race.budget = x.spec.budget;
  race.currency = x.spec.currency;
  race.started_us = now_us_;
  for (const auto& spec : x.spec.workers) {
    auto& row = record_.workers.emplace_back();
    row.worker = spec.worker;
    row.number = spec.number;
    row.variant = spec.variant;
    row.choice = spec.choice;
    row.phase = to_string(worker_phase::starting);
  }
  last_words_.resize(record_.workers.size());
  last_replies_.resize(record_.workers.size());
}

void race_view::on(const worker_started& x) {
  if (auto* row = find(x.worker)) {
    row->node = x.node.text;
    row->starts = x.start;
    row->round = std::max(row->round, x.round);
    row->started_us = row->started_us == 0 ? now_us_ : row->started_us;
    row->end.clear();
  }
}

void race_view::on(const worker_moved& x) {
  if (auto* row = find(x.worker)) {
    row->round = std::max(row->round, x.round);
    row->phase = to_string(x.phase);
    row->note = clean_line(x.note);
  }
}

void race_view::on(const prompt_sent& x) {
  if (auto* row = find(x.worker)) {
    row->round = std::max(row->round, x.round);
    row->phase = to_string(worker_phase::prompting);
    row->note.clear();
  }
  auto& call = record_.llm_calls.emplace_back();
  call.worker = x.worker;
  call.round = x.round;
  call.attempt = x.attempt;
  call.choice = x.choice;
  call.prompt_digest = x.prompt_digest;
  call.sent_us = now_us_;
}

void race_view::on(const reply_delta&) {}

void race_view::on(const reply_ended& x) {
  known_replies_ += x.is_known ? 1 : 0;
  if (!x.is_known) {
    record_.race.cost += x.cost;
    record_.race.reserved_cost += x.basis == charge_basis::reserved ? x.cost : 0;
  }
  record_.race.lost_in_flight += x.lost_in_flight;
  is_budget_spent_ = is_budget_spent_ || x.outcome == llm_outcome::budget_exhausted;
  if (auto* row = find(x.worker)) {
    ++row->llm_calls;
    row->input_tokens += x.usage.input_tokens.value_or(0);
    row->output_tokens += x.usage.output_tokens.value_or(0);
    row->cost += x.cost;
    row->lost_in_flight += x.lost_in_flight;
    last_replies_[static_cast<std::size_t>(row - record_.workers.data())] = x.text;
  }
  if (!has_text(x.outcome)) {
    say(x.worker, to_string(x.outcome) + (x.error.empty() ? "" : ": " + clean_line(x.error)));
  }
  for (auto it = record_.llm_calls.rbegin(); it != record_.llm_calls.rend(); ++it) {
    if (it->worker == x.worker && it->round == x.round && it->attempt == x.attempt) {
      it->outcome = to_string(x.outcome);
      it->finish_reason = x.finish_reason;
      it->error = x.error;
      it->http_status = x.http_status;
      it->tries = x.tries;
      it->usage = x.usage;
      it->first_text = x.first_text;
      it->elapsed = x.elapsed;
      break;
    }
  }
}

void race_view::on(const code_extracted& x) {
  auto& round = round_of(x.worker, x.round);
  round.extraction = to_string(x.result);
  round.extraction_note = x.note;
  round.digest = x.digest;
  if (x.result != extraction::found) {
    say(x.worker, to_string(x.result) + (x.note.empty() ? "" : ": " + clean_line(x.note)));
  }
}

void race_view::on(const candidate_reserved& x) {
  auto& round = round_of(x.worker, x.round);
  round.duplicate = to_string(x.duplicate);
  round.duplicate_of = x.duplicate == duplicate::unique ? worker_id{} : x.owner;
}

void race_view::on(const candidate_evaluated& x) {
  say(x.worker, verdict_line(x.result));
  round_of(x.worker, x.round).was_accepted = x.is_accepted;
  if (auto* row = find(x.worker)) {
    ++row->evaluations;
  }
  auto& out = record_.evaluations.emplace_back();
  out.worker = x.worker;
  out.round = x.round;
  out.attempt = x.attempt;
  out.digest = x.digest;
  out.outcome = to_string(x.result.outcome);
  out.claim = to_string(x.result.claim);
  out.judgement = to_string(x.result.judgement);
  out.is_accepted = x.is_accepted;
  out.exit_code = x.result.exit_code;
  out.signal = x.result.signal;
  out.reason = x.result.reason;
  out.node = x.result.node;
  out.slot = x.result.slot;
  out.gpu_uuid = x.result.gpu_uuid;
  out.engine = x.result.engine;
  out.sandbox_level = x.result.sandbox_level;
  out.started_us = x.result.started_us;
  out.queued = x.result.queued;
  out.elapsed = x.result.elapsed;
  out.killed_in = x.result.killed_in;
  out.cpu_time = x.result.cpu_time;
  out.peak_memory = x.result.peak_memory;
}

void race_view::on(const round_failed& x) {
  round_of(x.worker, x.round).why = x.why;
  say(x.worker, clean_line(x.why));
}

void race_view::on(const worker_finished& x) {
  if (auto* row = find(x.worker)) {
    row->phase = to_string(worker_phase::ended);
    row->end = to_string(x.end);
    row->reason = x.reason;
    row->note.clear();
    row->ended_us = now_us_;
  }
}

void race_view::on(const winner_decided& x) {
  auto& race = record_.race;
  race.winner = x.worker;
  race.winner_round = x.round;
  race.winner_digest = x.digest;
  race.standing = x.standing;
  round_of(x.worker, x.round).has_won = true;
  if (const auto* row = find(x.worker)) {
    winning_reply_ = last_replies_[static_cast<std::size_t>(row - record_.workers.data())];
  }
}

void race_view::on(const runner_up& x) {
  round_of(x.worker, x.round).was_accepted = true;
}

void race_view::on(const race_cancelled&) {
  is_stopping_ = true;
}

void race_view::on(const race_resumed& x) {
  record_.race.rounds = x.rounds;
  former_evaluations_ = x.evaluations;
  is_stopping_ = false;
}

void race_view::on(const race_ended& x) {
  auto& race = record_.race;
  race.ended_us = now_us_;
  race.end = to_string(x.end);
  race.reason = x.reason;
  race.decided = x.decided;
  race.cancelled = x.cancelled;
  race.quiet = x.quiet;
  race.elapsed = x.elapsed;
  race.input_tokens = x.input_tokens;
  race.output_tokens = x.output_tokens;
  race.llm_calls = x.llm_calls;
  race.evaluations = x.evaluations;
  race.runners_up = x.runners_up;
  race.cost = x.cost;
  race.reserved_cost = x.reserved_cost;
  race.resumes = x.resumes;
  race.lost_in_flight = x.lost_in_flight;
  lost_calls_ = x.lost_in_flight;
  record_.timing.record = x.timing;
  record_.timing.reason = x.not_timed;
  for (const auto& node : x.unconfirmed_nodes) {
    race.unconfirmed_nodes.push_back(node.text);
  }
}

}  // namespace regatta::cli
