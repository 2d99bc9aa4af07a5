// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything that must be right before a race starts: found, read and checked, with one clear error if it is not.
#pragma once

#include "cli/embedded.hpp"
#include "cli/session.hpp"
#include "messages/race.hpp"

#include <caf/expected.hpp>

#include <string>
#include <vector>

namespace regatta::cli {

struct race_setup {
  embedded_config config;
  race_spec spec;
  std::string model_source;  ///< "provider replay (--replay)".
  std::string python_text;   ///< "/x/python 3.11.7 (VIRTUAL_ENV), torch 2.13.0+cpu, triton 3.9.0".
  std::vector<std::string> warnings;
};

/// Fails: `ec::invalid_config`, `ec::unknown_provider`, `ec::not_found`, `ec::io_failed`, `ec::refused`.
caf::expected<race_setup> prepare_race(const session& x);

}  // namespace regatta::cli
