// SPDX-License-Identifier: Apache-2.0
/// \file
/// The variables that the program goes by: its own environment, then a `.env` file of mode 0600.
#pragma once

#include <caf/expected.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::cli {

struct env_value {
  std::string value;
  std::string source;  ///< "environment", or the path of the file.
};

/// By name. A secret may be among them: print names and sources, never values.
using environment = std::map<std::string, env_value>;

environment process_environment();

/// The value, or empty if the variable is not set or empty.
std::string value_of(const environment& env, const std::string& name);

/// `KEY=VALUE` lines; `#` begins a comment line; `export ` and one pair of quotes around the value are dropped.
std::vector<std::pair<std::string, std::string>> parse_env_file(std::string_view text);

/// Adds what `path` has and `env` has not. A file that others may read is not read: `warning` then names it and the
/// chmod that mends it. Absent: nothing. Fails only if it is there but cannot be read: `ec::invalid_config`.
caf::expected<void> add_env_file(environment& env, const std::string& path, std::string& warning);

/// "mode 0644; chmod 600 PATH mends it", or empty if only its owner, and that is us, can read it.
std::string why_not_private(const std::string& path);

}  // namespace regatta::cli
