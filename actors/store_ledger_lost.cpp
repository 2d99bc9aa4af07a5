// SPDX-License-Identifier: Apache-2.0
// Calls whose process died before they ended.
#include "actors/store_ledger.hpp"
#include "messages/error.hpp"

#include <map>

namespace regatta {

template <class... Ts>
caf::expected<std::vector<store_ledger::open_row>> store_ledger::open_rows(database& db, std::string_view sql,
                                                                           const Ts&... xs) {
  std::vector<open_row> out;
  const auto use = [&](result_row& row) {
    auto& x = out.emplace_back();
    row.read(x.call, x.process, x.race, x.day, x.reserved, x.reserved_tokens);
  };
  if (auto error = db.each(sql, use, xs...)) {
    return error;
  }
  return out;
}

caf::error store_ledger::settle_lost(database& db, const open_row& row, std::int64_t now_us) {
  if (auto error = db.execute("UPDATE llm_calls SET closed_us = ?, outcome = ?, cost = reserved, basis = ?, "
                              "charged_tokens = reserved_tokens, error = 'its process ended before it did' "
                              "WHERE call = ?",
                              now_us, llm_outcome::lost_in_flight,
                              row.reserved > 0 || row.reserved_tokens > 0 ? charge_basis::reserved : charge_basis::none,
                              row.call)) {
    return error;
  }
  return book(db, row, {0, row.reserved, row.reserved_tokens, -1, -row.reserved, -row.reserved_tokens});
}

caf::expected<bool> store_ledger::is_gone(database& db, std::int64_t process) {
  store_owner owner;
  const auto use = [&](result_row& row) { row.read(owner.pid, owner.start_ticks, owner.boot_id, owner.host); };
  if (auto error = db.each("SELECT pid, start_ticks, boot_id, host FROM processes WHERE process_id = ?", use,
                           process)) {
    return error;
  }
  return !may_be_alive(owner);
}

caf::expected<store_ledger::lost_calls> store_ledger::settle_key(database& db, const open_call& x,
                                                                 std::int64_t now_us) {
  const auto rows = open_rows(db,
                              "SELECT call, process_id, race_id, day, reserved, reserved_tokens FROM llm_calls "
                              "WHERE race_id = ? AND worker_id = ? AND round = ? AND attempt = ? AND closed_us IS NULL",
                              x.race, x.worker, x.round, x.attempt);
  if (!rows) {
    return rows.error();
  }
  lost_calls out;
  for (const auto& row : *rows) {
    const auto gone = is_gone(db, row.process);
    if (!gone) {
      return gone.error();
    }
    if (!*gone) {
      continue;
    }
    if (auto error = settle_lost(db, row, now_us)) {
      return error;
    }
    ++out.count;
    out.cost = bounded_sum(out.cost, row.reserved);
  }
  return out;
}

caf::error store_ledger::settle_dead(database& db, std::int64_t now_us) {
  searched_us_ = now_us;
  const auto rows = open_rows(db, "SELECT call, process_id, race_id, day, reserved, reserved_tokens FROM llm_calls "
                                  "WHERE closed_us IS NULL");
  if (!rows) {
    return rows.error();
  }
  std::map<std::int64_t, bool> gone;
  for (const auto& row : *rows) {
    auto it = gone.find(row.process);
    if (it == gone.end()) {
      const auto x = is_gone(db, row.process);
      if (!x) {
        return x.error();
      }
      it = gone.emplace(row.process, *x).first;
    }
    if (!it->second) {
      continue;
    }
    if (auto error = settle_lost(db, row, now_us)) {
      return error;
    }
  }
  return {};
}

caf::error store_ledger::settle_race(database& db, const race_id& race, std::int64_t now_us) {
  const auto process = my_process(db);
  if (!process) {
    return process.error();
  }
  const auto rows = open_rows(db,
                              "SELECT call, process_id, race_id, day, reserved, reserved_tokens FROM llm_calls "
                              "WHERE race_id = ? AND closed_us IS NULL AND process_id <> ?",
                              race, *process);
  if (!rows) {
    return rows.error();
  }
  for (const auto& row : *rows) {
    if (auto error = settle_lost(db, row, now_us)) {
      return error;
    }
  }
  return {};
}

}  // namespace regatta
