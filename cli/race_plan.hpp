// SPDX-License-Identifier: Apache-2.0
/// \file
/// RACE PLAN: settings, provider, problem and stage become a `race_spec`. Pure.
#pragma once

#include "cli/race_models.hpp"
#include "cli/settings.hpp"
#include "messages/race.hpp"

#include <caf/expected.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace regatta::cli {

/// `run_<YYYYMMDD>_<HHMMSS>_<8 hex>`, local time.
race_id make_run_id(std::chrono::system_clock::time_point now, std::uint32_t random);

/// What can be refused before anything is read or started, by name: clashes between options, names and addresses
/// that are none.
/// Fails: `ec::invalid_config`.
caf::expected<void> check_settings(const settings& values);

run_limits limits_of(const settings& values);
judge_terms terms_of(const settings& values);

/// Worker i gets the i-th model, temperature, seed and prompt variant, each list from its beginning again when it is
/// used up.
/// All have the same fallbacks, with their own temperature and seed.
std::vector<worker_spec> plan_workers(const settings& values, const race_models& models, std::size_t variants);

race_spec plan_race(const settings& values, const race_models& models, stage_spec stage, problem_spec problem,
                    const race_id& id, const std::string& state_dir);

}  // namespace regatta::cli
