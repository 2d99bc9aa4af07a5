// SPDX-License-Identifier: Apache-2.0
/// \file
/// The LEDGER's rules over one database: which call may go out, what it costs, what is lost with a dead process.
/// messages/ledger.hpp says the protocol. Everything here happens within the caller's transaction.
///
///   open --> row with its reservation --close--> settled: cost, usage, reply
///                                      \--process died--> settled: lost_in_flight, cost = reservation
#pragma once

#include "actors/store_budget.hpp"
#include "actors/store_database.hpp"
#include "actors/store_owner.hpp"
#include "messages/ledger.hpp"

#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace regatta {

using ledger_question = std::variant<open_call, close_call>;
using ledger_answer = std::variant<call_opened, call_closed, caf::error>;

/// While a reservation does not fit, rows of dead processes are looked for at this pace at most.
inline constexpr std::int64_t dead_search_interval_us = 5'000'000;

class store_ledger {
public:
  explicit store_ledger(store_owner me) : me_{std::move(me)} {}

  /// Fails: `ec::refused` (fits once calls in flight are settled), `ec::budget_spent`, `ec::unknown_race`,
  /// `ec::unknown_worker`, `ec::store_failed`, `ec::store_full`.
  caf::expected<call_opened> open(database& db, const open_call& x, std::int64_t now_us);
  /// Fails: `ec::not_found` (no such row), `ec::not_holder` (another process' row), `ec::store_…`.
  caf::expected<call_closed> close(database& db, const close_call& x, std::int64_t now_us);

  ledger_answer answer(database& db, const ledger_question& x, std::int64_t now_us);

  /// Settles the open rows of every process that is certainly gone.
  caf::error settle_dead(database& db, std::int64_t now_us);
  /// … of this race, whosesoever they are but ours: this process has taken the race over.
  caf::error settle_race(database& db, const race_id& race, std::int64_t now_us);

private:
  struct open_row {
    std::int64_t call = 0;
    std::int64_t process = 0;
    race_id race;
    std::string day;
    nano_units reserved = 0;
    std::int64_t reserved_tokens = 0;
  };
  struct lost_calls {
    std::uint32_t count = 0;
    nano_units cost = 0;
  };

  caf::expected<std::int64_t> my_process(database& db);
  caf::error check_known_race(database& db, const open_call& x);
  caf::expected<std::optional<prompt_ended>> known_answer(database& db, const open_call& x);
  caf::expected<std::int64_t> row_of_same(database& db, const open_call& x, std::int64_t process);
  caf::error check_budgets(database& db, const open_call& x, std::int64_t process, std::int64_t now_us);
  caf::expected<std::uint64_t> insert(database& db, const open_call& x, std::int64_t process, std::int64_t now_us);
  caf::error write_end(database& db, const close_call& x, std::int64_t now_us);
  caf::expected<lost_calls> settle_key(database& db, const open_call& x, std::int64_t now_us);
  caf::expected<bool> is_gone(database& db, std::int64_t process);
  caf::error settle_lost(database& db, const open_row& row, std::int64_t now_us);
  /// `sql` selects open rows: call, process_id, race_id, day, reserved, reserved_tokens.
  template <class... Ts>
  caf::expected<std::vector<open_row>> open_rows(database& db, std::string_view sql, const Ts&... xs);
  caf::error book(database& db, const open_row& row, const budget_change& x);

  store_owner me_;
  std::int64_t searched_us_ = 0;
};

}  // namespace regatta
