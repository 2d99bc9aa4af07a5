// SPDX-License-Identifier: Apache-2.0
/// \file
/// BUDGETS: what may be spent on models, from settings to exact amounts, and whether they can be kept. Pure.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "cli/settings.hpp"
#include "messages/money.hpp"
#include "messages/race.hpp"

#include <caf/expected.hpp>

#include <string>
#include <vector>

namespace regatta::cli {

struct budgets {
  spending_limits race;
  spending_limits process;
  spending_limits day;
};
budgets budgets_of(const settings& values);

/// A money budget needs the price of every model that may be asked. Recordings cost nothing.
/// Fails: `ec::invalid_config`, naming provider, model and the table to add.
caf::expected<void> check_prices(const budgets& limits, const std::vector<worker_spec>& workers,
                                 const std::vector<provider_config>& providers);

}  // namespace regatta::cli
