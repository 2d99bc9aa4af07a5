// SPDX-License-Identifier: Apache-2.0
#include "actors/race_standing.hpp"

#include "actors/race_fold.hpp"
#include "actors/store_clock.hpp"
#include "actors/store_owner.hpp"
#include "actors/store_schema.hpp"
#include "messages/event_codec.hpp"

#include <algorithm>

namespace regatta {

namespace {

/// Of an owner on another host, where only its heartbeat can be seen: twelve beats of 5 s.
constexpr std::int64_t silent_after_us = 60'000'000;

bool is_mine(const race_owner& x, const store_owner& me) {
  return x.pid == me.pid && x.start_ticks == me.start_ticks && x.boot_id == me.boot_id && x.host == me.host;
}

bool is_alive(const race_owner& x, std::int64_t now_us) {
  const bool may_be = may_be_alive({x.pid, x.start_ticks, x.boot_id, x.host});
  return may_be && (x.host == this_process().host || now_us - x.heartbeat_us < silent_after_us);
}

struct owned_race {
  race_owner owner;
  std::uint64_t last_seq = 0;
  std::int64_t ended_us = 0;
};

caf::expected<owned_race> read_owner(database& db, const race_id& race) {
  std::optional<owned_race> found;
  const auto use = [&](result_row& row) {
    auto& x = found.emplace();
    row.read(x.owner.pid, x.owner.start_ticks, x.owner.boot_id, x.owner.host, x.owner.heartbeat_us, x.last_seq,
             x.ended_us);
  };
  if (auto error = db.each("SELECT owner_pid, owner_start_ticks, owner_boot_id, owner_host, owner_heartbeat_us, "
                           "last_seq, ended_us FROM races WHERE race_id = ?",
                           use, race)) {
    return error;
  }
  if (!found) {
    return fail(ec::unknown_race, race.text);
  }
  return *found;
}

caf::error fold_events(database& db, const race_id& race, race_fold& out) {
  caf::error bad;
  const auto use = [&](result_row& row) {
    std::uint64_t seq = 0;
    std::string body;
    row.read(seq, body);
    auto x = event_from_json(body);
    if (x) {
      out.apply(*x);
    } else if (!bad) {
      bad = fail(ec::store_failed, "event " + std::to_string(seq) + " of " + race.text +
                                       " cannot be read: " + describe(x.error()));
    }
  };
  if (auto error = db.each("SELECT seq, body FROM events WHERE race_id = ? ORDER BY seq", use, race)) {
    return error;
  }
  if (!bad && !out.has_started()) {
    return fail(ec::store_failed, race.text + " has no race_started on record");
  }
  return bad;
}

/// Kept files lie in a table of their own.
caf::error refill_kept(database& db, const race_id& race, const race_fold& fold, worker_standing& worker) {
  for (auto& known : worker.progress.evaluated) {
    for (auto& file : known.result.kept) {
      const auto use = [&](result_row& row) { row.read(file.content); };
      if (auto error = db.each("SELECT content FROM artifacts WHERE race_id = ? AND seq = ? AND name = ? LIMIT 1", use,
                               race, fold.seq_of(worker.worker, known.digest), file.name)) {
        return error;
      }
    }
  }
  return {};
}

/// Of calls the ledger knows more than the events: also those whose end no event told. What a dead process had in
/// flight is lost, whether or not that is booked yet: `race_resumed` books it.
caf::error add_ledger(database& db, const race_id& race, race_standing& out) {
  std::uint32_t calls = 0;
  std::uint32_t replies = 0;
  race_ended sums;
  const auto use = [&](result_row& row) {
    row.read(calls, sums.cost, sums.reserved_cost, sums.lost_in_flight, sums.input_tokens, sums.output_tokens, replies);
  };
  if (auto error = db.each("SELECT count(*), sum(iif(closed_us IS NULL, reserved, cost)), "
                           "sum(iif(closed_us IS NULL, reserved, iif(basis = 'reserved', cost, 0))), "
                           "sum(closed_us IS NULL OR outcome = 'lost_in_flight'), sum(input_tokens), "
                           "sum(output_tokens), sum(is_answer AND outcome IN ('replied', 'truncated', 'empty', "
                           "'refused')) FROM llm_calls WHERE race_id = ?",
                           use, race)) {
    return error;
  }
  if (calls == 0) {
    return {};
  }
  out.replies = replies;
  out.totals.cost = sums.cost;
  out.totals.reserved_cost = sums.reserved_cost;
  out.totals.lost_in_flight = sums.lost_in_flight;
  out.totals.input_tokens = sums.input_tokens;
  out.totals.output_tokens = sums.output_tokens;
  return {};
}

caf::expected<race_standing_record> read_record(database& db, const race_id& race, std::int64_t now_us) {
  const auto owned = read_owner(db, race);
  if (!owned) {
    return owned.error();
  }
  race_fold fold;
  if (auto error = fold_events(db, race, fold)) {
    return error;
  }
  race_standing_record out;
  out.spec = fold.spec();
  out.standing = fold.standing();
  out.standing.last_seq = std::max(out.standing.last_seq, owned->last_seq);
  if (auto error = add_ledger(db, race, out.standing)) {
    return error;
  }
  out.version = fold.version();
  out.owner = owned->owner;
  out.winner = fold.winner();
  out.ended = fold.ended();
  out.is_owned = !out.ended && is_alive(out.owner, now_us);
  for (auto& worker : out.standing.workers) {
    if (auto error = refill_kept(db, race, fold, worker)) {
      return error;
    }
    if (out.standing.passed && out.standing.passed->worker == worker.worker) {
      for (const auto& known : worker.progress.evaluated) {
        if (known.digest == out.standing.passed->digest) {
          out.standing.passed->result = known.result;
        }
      }
    }
  }
  return out;
}

}  // namespace

caf::expected<race_standing_record> load_standing(const std::string& state_dir, const race_id& race) {
  auto db = open_store_read_only(state_dir);
  if (!db) {
    return std::move(db.error());
  }
  // All queries see one state, whatever is written meanwhile.
  if (auto error = (*db)->script("BEGIN")) {
    return error;
  }
  return read_record(**db, race, utc_now_us());
}

void allow_rounds(race_standing_record& record, std::uint32_t rounds) {
  record.spec.rounds = rounds;
  for (auto& x : record.standing.workers) {
    const bool is_spent = x.progress.round > rounds;
    if (x.has_ended && x.end == worker_end::rounds_spent && !is_spent) {
      x.has_ended = false;
      x.end = worker_end::crashed;
      x.reason.clear();
    } else if (!x.has_ended && is_spent) {
      x.has_ended = true;
      x.end = worker_end::rounds_spent;
      x.reason = std::to_string(rounds) + " rounds are allowed";
    }
  }
}

std::string describe_owner(const race_owner& owner, std::int64_t now_us) {
  const auto ago = std::max<std::int64_t>(0, now_us - owner.heartbeat_us) / 1'000'000;
  return "pid " + std::to_string(owner.pid) + " on " + owner.host + ", last heard of " + std::to_string(ago) + " s ago";
}

caf::error claim_race(const std::string& state_dir, const race_id& race, std::int64_t now_us,
                      std::optional<std::uint64_t> last_seq) {
  auto opened = open_store(state_dir, std::chrono::milliseconds{0});
  if (!opened) {
    return std::move(opened.error());
  }
  auto& db = *opened->db;
  if (auto error = db.script("BEGIN IMMEDIATE")) {
    return error;
  }
  const auto owned = read_owner(db, race);
  const auto me = this_process();
  auto error = owned ? caf::error{} : owned.error();
  bool is_whole = false;
  error = error ? error
                : db.each("SELECT EXISTS(SELECT 1 FROM events WHERE race_id = ? AND kind = 'race_started')",
                          [&](result_row& row) { row.read(is_whole); }, race);
  if (!error && !is_whole) {
    error = fail(ec::refused, race.text + " is being removed");
  }
  if (!error && owned->ended_us == 0 && !is_mine(owned->owner, me) && is_alive(owned->owner, now_us)) {
    error = fail(ec::refused, race.text + " is run by " + describe_owner(owned->owner, now_us));
  }
  if (!error && last_seq && owned->last_seq > *last_seq) {
    error = fail(ec::refused, race.text + ": another process has gone on with it meanwhile; look again");
  }
  if (!error) {
    // Open again from now on, so that a second one that tries is refused before the first event of this one.
    error = db.execute("UPDATE races SET owner_pid = ?, owner_start_ticks = ?, owner_boot_id = ?, owner_host = ?, "
                       "owner_heartbeat_us = ?, ended_us = NULL, end = NULL, reason = NULL WHERE race_id = ?",
                       me.pid, me.start_ticks, me.boot_id, me.host, now_us, race);
  }
  error = error ? error : db.script("COMMIT");
  if (error && db.is_in_transaction()) {
    // The first error is the one that says why.
    static_cast<void>(db.script("ROLLBACK"));
  }
  return error;
}

caf::error release_race(const std::string& state_dir, const race_id& race, const race_ended& ended,
                        std::uint64_t last_seq) {
  auto opened = open_store(state_dir, std::chrono::milliseconds{0});
  if (!opened) {
    return std::move(opened.error());
  }
  const auto me = this_process();
  return opened->db->execute("UPDATE races SET end = ?, reason = ?, ended_us = (SELECT max(at_us) FROM events "
                             "WHERE race_id = ? AND kind = 'race_ended') WHERE race_id = ? AND ended_us IS NULL AND "
                             "last_seq <= ? AND owner_pid = ? AND owner_start_ticks = ? AND owner_boot_id = ?",
                             ended.end, ended.reason, race, race, last_seq, me.pid, me.start_ticks, me.boot_id);
}

}  // namespace regatta
