// SPDX-License-Identifier: Apache-2.0
#include "actors/store_writer.hpp"

#include "actors/event_files.hpp"
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

caf::error store_writer::write(std::span<const event> batch, std::int64_t now_us,
                               std::map<race_id, caf::error>& refused) {
  if (auto error = db_->script("BEGIN IMMEDIATE")) {
    return error;
  }
  std::map<race_id, caf::error> refused_here;
  auto error = write_all(batch, now_us, refused_here);
  if (!error) {
    error = db_->script("COMMIT");
  }
  if (error) {
    // SQLite may have rolled back by itself (disk full). The first error is the one that says why.
    if (db_->is_in_transaction()) {
      static_cast<void>(db_->script("ROLLBACK"));
    }
    return error;
  }
  refused.merge(refused_here);
  return {};
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
  if (auto error = put_event(x)) {
    return error;
  }
  if (db_->changes() == 0) {
    return {};
  }
  return std::visit([&](const auto& body) { return on(x, body); }, x.body);
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
