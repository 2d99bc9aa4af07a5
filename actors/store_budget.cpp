// SPDX-License-Identifier: Apache-2.0
#include "actors/store_budget.hpp"

#include "actors/money_text.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace regatta {

namespace {

std::string text_of_amount(std::int64_t x, bool is_money) {
  return is_money ? money_text(x) : std::to_string(x) + " tokens";
}

caf::error check_one(const budget_name& whose, std::int64_t limit, std::int64_t spent, std::int64_t open,
                     std::int64_t asked, bool is_money) {
  if (limit == 0) {
    return {};
  }
  const bool never = bounded_sum(spent, asked) > limit;
  if (!never && bounded_sum(bounded_sum(spent, open), asked) <= limit) {
    return {};
  }
  const auto amount = [&](std::int64_t x) { return text_of_amount(x, is_money); };
  return fail(never ? ec::budget_spent : ec::refused,
              "budget of " + whose.scope + " " + whose.name + ": limit " + amount(limit) + ", spent " + amount(spent) +
                  ", reserved by calls in flight " + amount(open) + ", asked for " + amount(asked) +
                  (never ? "" : "; waits for calls in flight"));
}

}  // namespace

std::int64_t bounded(std::int64_t x) {
  return std::clamp<std::int64_t>(x, 0, most_spendable);
}

std::int64_t bounded(std::uint64_t x) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(x, static_cast<std::uint64_t>(most_spendable)));
}

std::int64_t bounded_sum(std::int64_t a, std::int64_t b) {
  // Twice the bound fits into 63 bits.
  return std::clamp(a + b, -most_spendable, most_spendable);
}

caf::expected<budget_total> read_total(database& db, const budget_name& whose) {
  budget_total x;
  const auto use = [&](result_row& row) {
    row.read(x.calls, x.cost, x.tokens, x.open_calls, x.reserved, x.reserved_tokens);
  };
  if (auto error = db.each("SELECT calls, cost, tokens, open_calls, reserved, reserved_tokens FROM budget_totals "
                           "WHERE scope = ? AND name = ?",
                           use, whose.scope, whose.name)) {
    return error;
  }
  return x;
}

caf::error change_total(database& db, const budget_name& whose, const budget_change& x) {
  const auto now = read_total(db, whose);
  if (!now) {
    return now.error();
  }
  return db.execute(
      "INSERT OR REPLACE INTO budget_totals(scope, name, calls, cost, tokens, open_calls, reserved, "
      "reserved_tokens) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
      whose.scope, whose.name, now->calls + x.calls, bounded_sum(now->cost, x.cost), bounded_sum(now->tokens, x.tokens),
      std::max<std::int64_t>(0, now->open_calls + x.open_calls), bounded(bounded_sum(now->reserved, x.reserved)),
      bounded(bounded_sum(now->reserved_tokens, x.reserved_tokens)));
}

caf::error check_budget(const budget_name& whose, const budget_total& so_far, const spending_limits& limit,
                        nano_units asked, std::int64_t asked_tokens) {
  auto money = check_one(whose, bounded(limit.money), so_far.cost, so_far.reserved, asked, true);
  if (code_of(money) == ec::budget_spent) {
    return money;
  }
  auto tokens = check_one(whose, bounded(limit.tokens), so_far.tokens, so_far.reserved_tokens, asked_tokens, false);
  return code_of(tokens) == ec::budget_spent || !money ? tokens : money;
}

std::string utc_day(std::int64_t at_us) {
  const auto seconds = static_cast<std::time_t>(at_us / 1'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

}  // namespace regatta
