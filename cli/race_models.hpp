// SPDX-License-Identifier: Apache-2.0
/// \file
/// RACE MODELS: whom a race asks: the first provider and model, and those to go on with when they are gone for good.
#pragma once

#include "cli/providers.hpp"

#include <caf/expected.hpp>

#include <vector>

namespace regatta::cli {

struct race_models {
  provider_choice first;
  std::vector<provider_choice> fallbacks;  ///< In order; each with the model that is meant.
};

/// `--fallback-model` names MODEL (of the race's provider) or PROVIDER:MODEL. A name with a colon whose first part is
/// no provider is a model's own: `qwen3:8b`. Fails like `choose_provider`.
caf::expected<race_models> choose_models(const settings& values, const std::vector<config_file>& files,
                                         const environment& env);

/// Of the prices of all of them; empty if there are none, or in several currencies.
std::string currency_of(const std::vector<provider_config>& providers);

/// Each provider once.
std::vector<provider_config> providers_of(const race_models& models);

}  // namespace regatta::cli
