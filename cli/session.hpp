// SPDX-License-Identifier: Apache-2.0
/// \file
/// SESSION: what every command starts from: variables, files and settings, read once.
#pragma once

#include "cli/command_line.hpp"
#include "cli/environment.hpp"
#include "cli/settings.hpp"

#include <caf/expected.hpp>

#include <string>
#include <vector>

namespace regatta::cli {

struct session {
  command_line line;
  environment env;
  std::vector<config_file> files;
  settings values;
  std::vector<std::string> warnings;
};

/// Reads `.env` (or --env-file), then the configuration files. Fails: `ec::invalid_config`.
caf::expected<session> open_session(command_line line, environment env);

/// The state folder, absolute.
std::string state_dir_of(const session& x);

}  // namespace regatta::cli
