// SPDX-License-Identifier: Apache-2.0
#include "actors/store_ledger.hpp"

#include "messages/error.hpp"

#include <array>

namespace regatta {

namespace {

/// What `is_paid_answer` says, in SQL's words.
constexpr std::string_view paid_outcomes = "('replied', 'truncated', 'empty', 'refused')";

std::array<budget_name, 3> budgets_of(const race_id& race, std::int64_t process, const std::string& day) {
  return {{{"race", race.text}, {"process", std::to_string(process)}, {"day", day}}};
}

prompt_ended read_known(result_row& row, const open_call& x) {
  prompt_ended out;
  out.race = x.race;
  out.worker = x.worker;
  out.round = x.round;
  out.attempt = x.attempt;
  std::string outcome;
  row.read(outcome, out.text, out.finish_reason, out.response_id, out.error, out.http_status, out.tries,
           out.first_text, out.elapsed);
  out.outcome = from_name<llm_outcome>(outcome).value_or(llm_outcome::malformed);
  out.is_known = true;
  return out;
}

}  // namespace

caf::expected<std::int64_t> store_ledger::my_process(database& db) {
  // Asked for every time: a transaction that was rolled back took a new row with it.
  if (auto error = db.execute("INSERT INTO processes(pid, start_ticks, boot_id, host) VALUES(?, ?, ?, ?) "
                              "ON CONFLICT DO NOTHING",
                              me_.pid, me_.start_ticks, me_.boot_id, me_.host)) {
    return error;
  }
  std::int64_t id = 0;
  const auto use = [&](result_row& row) { row.read(id); };
  if (auto error = db.each("SELECT process_id FROM processes WHERE host = ? AND boot_id = ? AND pid = ? "
                           "AND start_ticks = ?",
                           use, me_.host, me_.boot_id, me_.pid, me_.start_ticks)) {
    return error;
  }
  return id;
}

caf::error store_ledger::check_known_race(database& db, const open_call& x) {
  bool has_race = false;
  bool has_worker = false;
  const auto use = [&](result_row& row) {
    has_race = true;
    row.read(has_worker);
  };
  if (auto error = db.each("SELECT EXISTS(SELECT 1 FROM workers w WHERE w.race_id = r.race_id AND w.worker_id = ?) "
                           "FROM races r WHERE r.race_id = ?",
                           use, x.worker, x.race)) {
    return error;
  }
  if (!has_race) {
    return fail(ec::unknown_race, x.race.text + ": a call for a race that the store does not have");
  }
  return has_worker ? caf::error{} : fail(ec::unknown_worker, x.worker.text + " of " + x.race.text);
}

/// A worker that starts again counts its attempts from 1: where the first ones had failed unpaid, the answer stands
/// under a later attempt at the same question.
caf::expected<std::optional<prompt_ended>> store_ledger::known_answer(database& db, const open_call& x) {
  static const std::string sql =
      "SELECT outcome, reply, finish_reason, response_id, error, http_status, tries, first_text_ms, elapsed_ms "
      "FROM llm_calls WHERE race_id = ? AND worker_id = ? AND round = ? AND attempt >= ? AND prompt_digest = ? "
      "AND is_answer = 1 AND outcome IN " +
      std::string{paid_outcomes} + " ORDER BY attempt, call DESC LIMIT 1";
  std::optional<prompt_ended> found;
  const auto use = [&](result_row& row) { found = read_known(row, x); };
  if (auto error = db.each(sql, use, x.race, x.worker, x.round, x.attempt, x.prompt_digest)) {
    return error;
  }
  return found;
}

caf::expected<std::int64_t> store_ledger::row_of_same(database& db, const open_call& x, std::int64_t process) {
  std::int64_t call = 0;
  const auto use = [&](result_row& row) { row.read(call); };
  if (auto error = db.each("SELECT call FROM llm_calls WHERE race_id = ? AND worker_id = ? AND round = ? "
                           "AND attempt = ? AND try = ? AND process_id = ? AND closed_us IS NULL LIMIT 1",
                           use, x.race, x.worker, x.round, x.attempt, x.try_number, process)) {
    return error;
  }
  return call;
}

caf::error store_ledger::check_budgets(database& db, const open_call& x, std::int64_t process, std::int64_t now_us) {
  const auto names = budgets_of(x.race, process, utc_day(now_us));
  const std::array<spending_limits, 3> limits = {x.race_budget, x.process_budget, x.day_budget};
  caf::error waits;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto total = read_total(db, names[i]);
    if (!total) {
      return total.error();
    }
    auto no = check_budget(names[i], *total, limits[i], bounded(x.reserved), bounded(x.reserved_tokens));
    if (code_of(no) == ec::budget_spent) {
      return no;
    }
    waits = waits ? waits : no;
  }
  return waits;
}

caf::expected<std::uint64_t> store_ledger::insert(database& db, const open_call& x, std::int64_t process,
                                                  std::int64_t now_us) {
  const auto& choice = x.choice;
  const auto day = utc_day(now_us);
  const auto reserved = bounded(x.reserved);
  const auto tokens = bounded(x.reserved_tokens);
  if (auto error = db.execute(
          "INSERT INTO llm_calls(race_id, worker_id, round, attempt, try, process_id, wire, provider, model, "
          "temperature, seed, max_output_tokens, reasoning_effort, prompt_digest, price_digest, reserved, "
          "reserved_tokens, day, opened_us) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          x.race, x.worker, x.round, x.attempt, x.try_number, process, x.wire, choice.provider, choice.model,
          choice.temperature, choice.seed, choice.max_output_tokens, choice.reasoning_effort, x.prompt_digest,
          x.price_digest, reserved, tokens, day, now_us)) {
    return error;
  }
  const auto call = db.last_row();
  if (auto error = book(db, {call, process, x.race, day, reserved, tokens}, {1, 0, 0, 1, reserved, tokens})) {
    return error;
  }
  return static_cast<std::uint64_t>(call);
}

caf::error store_ledger::book(database& db, const open_row& row, const budget_change& x) {
  for (const auto& whose : budgets_of(row.race, row.process, row.day)) {
    if (auto error = change_total(db, whose, x)) {
      return error;
    }
  }
  return {};
}

caf::expected<call_opened> store_ledger::open(database& db, const open_call& x, std::int64_t now_us) {
  if (auto error = check_known_race(db, x)) {
    return error;
  }
  const auto process = my_process(db);
  if (!process) {
    return process.error();
  }
  const auto same = row_of_same(db, x, *process);
  if (!same) {
    return same.error();
  }
  if (*same != 0) {
    return call_opened{static_cast<std::uint64_t>(*same), std::nullopt, 0, 0};
  }
  auto known = known_answer(db, x);
  if (!known) {
    return std::move(known.error());
  }
  const auto lost = settle_key(db, x, now_us);
  if (!lost) {
    return lost.error();
  }
  if (*known) {
    return call_opened{0, std::move(*known), lost->count, lost->cost};
  }
  auto no = check_budgets(db, x, *process, now_us);
  if (code_of(no) == ec::refused && now_us - searched_us_ >= dead_search_interval_us) {
    no = settle_dead(db, now_us);
    no = no ? no : check_budgets(db, x, *process, now_us);
  }
  if (no) {
    return no;
  }
  const auto call = insert(db, x, *process, now_us);
  if (!call) {
    return call.error();
  }
  return call_opened{*call, std::nullopt, lost->count, lost->cost};
}

caf::error store_ledger::write_end(database& db, const close_call& x, std::int64_t now_us) {
  const auto& end = x.ended;
  const auto& usage = end.usage;
  const auto count = [](const std::optional<std::uint64_t>& n) {
    return n ? std::optional{bounded(*n)} : std::nullopt;
  };
  return db.execute(
      "UPDATE llm_calls SET closed_us = ?, outcome = ?, reply = ?, finish_reason = ?, response_id = ?, error = ?, "
      "http_status = ?, tries = ?, input_tokens = ?, output_tokens = ?, reasoning_tokens = ?, cached_tokens = ?, "
      "cache_written_tokens = ?, first_text_ms = ?, elapsed_ms = ?, cost = ?, basis = ?, charged_tokens = ?, "
      "is_answer = ? WHERE call = ?",
      now_us, end.outcome, end.text, end.finish_reason, end.response_id, end.error, end.http_status, end.tries,
      count(usage.input_tokens), count(usage.output_tokens), count(usage.reasoning_tokens),
      count(usage.cached_tokens), count(usage.cache_written_tokens), end.first_text, end.elapsed, bounded(end.cost),
      end.basis, bounded(end.charged_tokens), x.is_answer, x.call);
}

caf::expected<call_closed> store_ledger::close(database& db, const close_call& x, std::int64_t now_us) {
  const auto process = my_process(db);
  if (!process) {
    return process.error();
  }
  std::optional<open_row> row;
  bool is_closed = false;
  const auto use = [&](result_row& found) {
    auto& it = row.emplace();
    found.read(it.call, it.process, it.race, it.day, it.reserved, it.reserved_tokens, is_closed);
  };
  if (auto error = db.each("SELECT call, process_id, race_id, day, reserved, reserved_tokens, closed_us IS NOT NULL "
                           "FROM llm_calls WHERE call = ?",
                           use, x.call)) {
    return error;
  }
  if (!row) {
    return fail(ec::not_found, "call " + std::to_string(x.call) + " is not in the ledger");
  }
  if (row->process != *process) {
    return fail(ec::not_holder, "call " + std::to_string(x.call) + " is another process'");
  }
  if (is_closed) {
    return call_closed{x.call};
  }
  if (auto error = write_end(db, x, now_us)) {
    return error;
  }
  const auto cost = bounded(x.ended.cost);
  const auto tokens = bounded(x.ended.charged_tokens);
  if (auto error = book(db, *row, {0, cost, tokens, -1, -row->reserved, -row->reserved_tokens})) {
    return error;
  }
  return call_closed{x.call};
}

ledger_answer store_ledger::answer(database& db, const ledger_question& x, std::int64_t now_us) {
  return std::visit(
      [&]<class T>(const T& question) -> ledger_answer {
        if constexpr (std::is_same_v<T, open_call>) {
          auto out = open(db, question, now_us);
          return out ? ledger_answer{std::move(*out)} : ledger_answer{std::move(out.error())};
        } else {
          auto out = close(db, question, now_us);
          return out ? ledger_answer{std::move(*out)} : ledger_answer{std::move(out.error())};
        }
      },
      x);
}

}  // namespace regatta
