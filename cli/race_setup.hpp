// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything that must be right before a race starts: found, read and checked, with one clear error if it is not.
#pragma once

#include "actors/race_standing.hpp"
#include "cli/embedded.hpp"
#include "cli/providers.hpp"
#include "cli/race_models.hpp"
#include "cli/session.hpp"
#include "messages/race.hpp"

#include <caf/expected.hpp>

#include <optional>
#include <string>
#include <vector>

namespace regatta::cli {

struct race_setup {
  embedded_config config;
  race_spec spec;
  std::string model_source;  ///< "provider replay (--replay)".
  std::string python_text;   ///< "/x/python 3.11.7 (VIRTUAL_ENV), torch 2.13.0+cpu, triton 3.9.0".
  std::vector<std::string> warnings;
  std::optional<race_standing_record> resumed;  ///< Where to go on; empty: a new race.
};

/// Fails: `ec::invalid_config`, `ec::unknown_provider`, `ec::not_found`, `ec::io_failed`, `ec::refused`.
caf::expected<race_setup> prepare_race(const session& x);

/// What depends on this host: state folder, interpreter, devices, sandbox, seed. Fails like the above.
caf::error prepare_host(const session& x, race_setup& out);
/// From the spec: whether the problem has to be one that the judge can use. One that was raced as weak may be again.
void set_judge(race_setup& out, bool refuses_weak);
void set_events(const session& x, race_setup& out);
/// Chosen by the settings, and looked at: its recording can be read, its program is there. Fails like the above.
caf::expected<provider_choice> find_provider(const session& x);
/// The same with every fallback.
caf::expected<race_models> find_models(const session& x);
/// SHA-256 of a recording's bytes. Fails: `ec::invalid_config`, naming the file.
caf::expected<std::string> digest_of_recording(const std::string& path);
/// Of this process and this day; the race's own stands in its spec. Fails (`ec::invalid_config`) for a budget in money
/// over a model without a price.
caf::error set_budgets(const session& x, race_setup& out);

}  // namespace regatta::cli
