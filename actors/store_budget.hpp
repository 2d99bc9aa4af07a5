// SPDX-License-Identifier: Apache-2.0
/// \file
/// BUDGETS: what is spent and what is reserved, for each race, process and UTC day; and whether one more call fits.
/// Sums are kept, not reckoned, so that a check costs the same in a store of any size.
#pragma once

#include "actors/store_database.hpp"
#include "messages/money.hpp"

#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <cstdint>
#include <string>

namespace regatta {

/// One row of `budget_totals`. Tokens as the database counts them.
struct budget_total {
  std::int64_t calls = 0;
  nano_units cost = 0;      ///< Of settled calls.
  std::int64_t tokens = 0;
  std::int64_t open_calls = 0;
  nano_units reserved = 0;  ///< By open calls.
  std::int64_t reserved_tokens = 0;
};

/// What one call adds or takes.
struct budget_change {
  std::int64_t calls = 0;
  nano_units cost = 0;
  std::int64_t tokens = 0;
  std::int64_t open_calls = 0;
  nano_units reserved = 0;
  std::int64_t reserved_tokens = 0;
};

/// Whose sum it is.
struct budget_name {
  std::string scope;  ///< `race`, `process`, `day`.
  std::string name;   ///< Race id, number of the process, `2026-11-30`.
};

/// Sums end here instead of wrapping round; beyond it nothing fits into any limit.
inline constexpr std::int64_t most_spendable = 4'000'000'000'000'000'000;
std::int64_t bounded(std::int64_t x);
std::int64_t bounded(std::uint64_t x);
/// Within ±`most_spendable`.
std::int64_t bounded_sum(std::int64_t a, std::int64_t b);

caf::expected<budget_total> read_total(database& db, const budget_name& whose);
caf::error change_total(database& db, const budget_name& whose, const budget_change& x);

/// `ec::none` if it fits; `ec::refused` if it would once open calls are settled below what they reserved;
/// `ec::budget_spent` if not even then. Both name budget, limit, spent, reserved and asked.
caf::error check_budget(const budget_name& whose, const budget_total& so_far, const spending_limits& limit,
                        nano_units asked, std::int64_t asked_tokens);

/// `2026-11-30`, UTC.
std::string utc_day(std::int64_t at_us);

}  // namespace regatta
