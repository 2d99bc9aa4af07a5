// SPDX-License-Identifier: Apache-2.0
/// \file
/// CONFIG: TOML files as checked values. The only place that knows TOML.
#pragma once

#include "cli/environment.hpp"

#include <caf/expected.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::cli {

/// One value of a file, as text (a list has several), and where it stands: `/x/regatta.toml:12`.
struct config_value {
  std::vector<std::string> texts;
  std::string source;
};

/// A `[providers.NAME]` table; cli/providers.* gives it its meaning.
struct provider_table {
  std::map<std::string, config_value> values;
  std::map<std::string, config_value> headers;
  std::map<std::string, std::map<std::string, config_value>> prices;  ///< By model; keys of `price_keys`.
  std::string source;
};

struct config_file {
  std::string path;
  std::map<std::string, config_value> values;  ///< By the option's name, e.g. `max-iters`.
  std::map<std::string, provider_table> providers;
};

/// Fails: `ec::invalid_config`: `PATH:LINE: KEY: got …, allowed: …`. Unknown keys fail, too.
caf::expected<config_file> parse_config(std::string_view text, const std::string& path);

/// The files that count, strongest first: `given` (must exist; empty: none), ./regatta.toml,
/// $XDG_CONFIG_HOME/regatta/config.toml (~/.config without the variable).
caf::expected<std::vector<config_file>> read_config_files(const std::string& given, const environment& env);

}  // namespace regatta::cli
