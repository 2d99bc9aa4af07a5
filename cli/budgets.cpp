// SPDX-License-Identifier: Apache-2.0
#include "cli/budgets.hpp"

#include "actors/llm/prices.hpp"
#include "messages/error.hpp"

#include <algorithm>

namespace regatta::cli {

namespace {

spending_limits limits_in(const settings& values, const std::string& option) {
  spending_limits out;
  out.money = to_money(values.text(option));
  out.tokens = static_cast<std::uint64_t>(values.integer(option + "-tokens"));
  return out;
}

caf::expected<void> check_price(const model_choice& choice, const std::vector<provider_config>& providers) {
  const auto it =
      std::find_if(providers.begin(), providers.end(), [&](const auto& x) { return x.name == choice.provider; });
  if (it == providers.end() || it->kind == provider_kind::replay || prices_of(*it, choice.model) != nullptr) {
    return {};
  }
  return fail(ec::invalid_config, "a budget in money needs prices, and model \"" + choice.model + "\" of provider " +
                                      choice.provider + " has none: add [providers." + choice.provider + ".prices.\"" +
                                      choice.model +
                                      "\"] with input and output (per million tokens), or give "
                                      "--budget-tokens instead");
}

}  // namespace

budgets budgets_of(const settings& values) {
  return {limits_in(values, "budget"), limits_in(values, "budget-process"), limits_in(values, "budget-day")};
}

caf::expected<void> check_prices(const budgets& limits, const std::vector<worker_spec>& workers,
                                 const std::vector<provider_config>& providers) {
  if (limits.race.money == 0 && limits.process.money == 0 && limits.day.money == 0) {
    return {};
  }
  for (const auto& worker : workers) {
    if (auto good = check_price(worker.choice, providers); !good) {
      return good;
    }
    for (const auto& other : worker.fallbacks) {
      if (auto good = check_price(other, providers); !good) {
        return good;
      }
    }
  }
  return {};
}

}  // namespace regatta::cli
