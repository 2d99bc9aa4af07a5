// SPDX-License-Identifier: Apache-2.0
#include "actors/store_writer.hpp"

#include "actors/event_files.hpp"
#include "messages/error.hpp"
#include "messages/event_codec.hpp"

#include <algorithm>
#include <variant>

namespace regatta {

namespace {

/// The event as events.body holds it: kept files have a table of their own, which keeps their bytes as they are.
std::string body_of(const event& x) {
  return event_to_json(has_kept_files(x) ? without_kept_files(x) : x);
}

}  // namespace

caf::error store_writer::transact(const std::function<caf::error()>& body) {
  auto error = db_->script("BEGIN IMMEDIATE");
  was_locked_ = db_->was_locked();
  if (error) {
    return error;
  }
  error = body();
  if (!error) {
    error = db_->script("COMMIT");
  }
  if (error) {
    was_locked_ = db_->was_locked();
    // SQLite may have rolled back by itself (disk full). The first error is the one that says why.
    if (db_->is_in_transaction()) {
      static_cast<void>(db_->script("ROLLBACK"));
    }
  }
  return error;
}

caf::error store_writer::write(std::span<const event> batch, std::span<const ledger_question> questions,
                               std::int64_t now_us, std::map<race_id, caf::error>& refused,
                               std::vector<ledger_answer>& answers) {
  std::map<race_id, caf::error> refused_here;
  auto error = transact([&] {
    auto failed = write_all(batch, now_us, refused_here);
    return failed ? failed : answer_all(questions, now_us, answers);
  });
  if (error) {
    answers.clear();
    return error;
  }
  refused.merge(refused_here);
  return {};
}

caf::error store_writer::answer_all(std::span<const ledger_question> questions, std::int64_t now_us,
                                    std::vector<ledger_answer>& answers) {
  answers.clear();
  for (const auto& x : questions) {
    if (auto error = db_->execute("SAVEPOINT one_call")) {
      return error;
    }
    answers.push_back(ledger_.answer(*db_, x, now_us));
    if (const auto* why = std::get_if<caf::error>(&answers.back())) {
      const bool is_refusal = code_of(*why) != ec::store_failed && code_of(*why) != ec::store_full;
      if (!is_refusal && !db_->can_go_on()) {
        return *why;
      }
      // What a refused question found out of dead processes stays booked.
      auto error = is_refusal ? caf::error{} : db_->execute("ROLLBACK TO one_call");
      if (error) {
        return error;
      }
    }
    if (auto error = db_->execute("RELEASE one_call")) {
      return error;
    }
  }
  return {};
}

caf::error store_writer::settle_dead(std::int64_t now_us) {
  bool is_any = false;
  auto error = db_->each("SELECT EXISTS(SELECT 1 FROM llm_calls WHERE closed_us IS NULL)",
                         [&](result_row& row) { row.read(is_any); });
  return error || !is_any ? error : transact([&] { return ledger_.settle_dead(*db_, now_us); });
}

caf::error store_writer::write_all(std::span<const event> batch, std::int64_t now_us,
                                   std::map<race_id, caf::error>& refused) {
  std::map<race_id, std::uint64_t> last_seqs;
  for (const auto& x : batch) {
    last_seqs[x.race] = std::max(last_seqs[x.race], x.seq);
    if (std::holds_alternative<reply_delta>(x.body) || strangers_.contains(x.race)) {
      continue;
    }
    if (auto error = db_->execute("SAVEPOINT one_event")) {
      return error;
    }
    if (auto why = write_one(x)) {
      if (!db_->can_go_on()) {
        return why;
      }
      refused.emplace(x.race, fail(ec::store_failed,
                                   std::string{kind_of(x.body)} + " " + std::to_string(x.seq) + ": " + text_of(why)));
      if (auto error = db_->execute("ROLLBACK TO one_event")) {
        return error;
      }
    }
    if (auto error = db_->execute("RELEASE one_event")) {
      return error;
    }
  }
  for (const auto& [race, seq] : last_seqs) {
    if (strangers_.contains(race)) {
      continue;
    }
    if (auto error = db_->execute("UPDATE races SET last_seq = max(last_seq, ?), owner_heartbeat_us = ? "
                                  "WHERE race_id = ?",
                                  seq, now_us, race)) {
      return error;
    }
  }
  return {};
}

caf::error store_writer::write_one(const event& x) {
  // A race must exist before its first event.
  if (const auto* started = std::get_if<race_started>(&x.body)) {
    if (auto error = on(x, *started)) {
      return error;
    }
    return put_event(x);
  }
  if (std::holds_alternative<race_resumed>(x.body)) {
    if (auto error = take_over(x)) {
      return error;
    }
  }
  if (auto error = put_event(x)) {
    return error;
  }
  if (db_->changes() == 0) {
    return {};
  }
  return std::visit([&](const auto& body) { return on(x, body); }, x.body);
}

/// Two processes may try: the one that came second is a stranger to the race.
caf::error store_writer::take_over(const event& x) {
  std::optional<store_owner> now;
  bool has_ended = false;
  const auto use = [&](result_row& row) {
    auto& it = now.emplace();
    row.read(it.pid, it.start_ticks, it.boot_id, it.host, has_ended);
  };
  if (auto error = db_->each("SELECT owner_pid, owner_start_ticks, owner_boot_id, owner_host, ended_us IS NOT NULL "
                             "FROM races WHERE race_id = ?",
                             use, x.race)) {
    return error;
  }
  const bool is_mine = now && now->pid == owner_.pid && now->start_ticks == owner_.start_ticks &&
                       now->boot_id == owner_.boot_id && now->host == owner_.host;
  if (!now || is_mine || has_ended || !may_be_alive(*now)) {
    return {};
  }
  strangers_.insert(x.race);
  return fail(ec::store_failed, x.race.text + " is run by pid " + std::to_string(now->pid) + " on " + now->host);
}

caf::error store_writer::put_event(const event& x) {
  return db_->execute(
      "INSERT INTO events(race_id, seq, at_us, kind, body) VALUES(?, ?, ?, ?, ?) "
      "ON CONFLICT DO NOTHING",
      x.race, x.seq, x.at_us, kind_of(x.body), body_of(x));
}

caf::error store_writer::set_artifact(const race_id& race, const std::string& path) {
  return change("UPDATE races SET artifact_path = ? WHERE race_id = ?", path, race);
}

caf::error store_writer::each_event(const race_id& race, std::uint64_t end,
                                    const std::function<void(const event&)>& use) {
  const auto take = [&](result_row& row) {
    std::string body;
    row.read(body);
    if (const auto x = event_from_json(body)) {
      use(*x);
    }
  };
  return db_->each("SELECT body FROM events WHERE race_id = ? AND seq < ? ORDER BY seq", take, race, end);
}

caf::error store_writer::beat(std::int64_t now_us) {
  return db_->execute(
      "UPDATE races SET owner_heartbeat_us = ? WHERE ended_us IS NULL AND owner_pid = ? "
      "AND owner_start_ticks = ? AND owner_boot_id = ? AND owner_host = ?",
      now_us, owner_.pid, owner_.start_ticks, owner_.boot_id, owner_.host);
}

caf::expected<std::optional<stored_race>> store_writer::find(const race_id& race) {
  std::optional<stored_race> found;
  const auto use = [&](result_row& row) {
    found.emplace();
    row.read(found->last_seq, found->artifact_path);
  };
  if (auto error = db_->each("SELECT last_seq, artifact_path FROM races WHERE race_id = ?", use, race)) {
    return error;
  }
  return found;
}

}  // namespace regatta
