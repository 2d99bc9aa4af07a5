// SPDX-License-Identifier: Apache-2.0
/// \file
/// SETTINGS: one value per option after flags, environment and files have been weighed, and where each came from.
#pragma once

#include "cli/config.hpp"
#include "cli/environment.hpp"
#include "cli/options.hpp"

#include <caf/expected.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::cli {

/// What stood on the command line, by the option's name.
using flag_values = std::map<std::string, std::vector<std::string>>;

struct setting {
  std::vector<std::string> values;  ///< Empty: unset.
  std::string source;               ///< "--workers", "REGATTA_WORKERS", "regatta.toml:12", "default".
};

class settings {
public:
  /// Flag > REGATTA_* > the providers' own variables > files in order > default. Fails: `ec::invalid_config`, naming
  /// source, got and allowed.
  static caf::expected<settings> resolve(const flag_values& flags, const environment& env,
                                         const std::vector<config_file>& files);

  const setting& at(std::string_view name) const;
  bool is_set(std::string_view name) const { return !at(name).values.empty(); }
  /// Empty if unset.
  std::string text(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return to_integer(text(name)); }
  std::int64_t seconds(std::string_view name) const { return to_seconds(text(name)); }
  std::uint64_t bytes(std::string_view name) const { return to_bytes(text(name)); }
  const std::vector<std::string>& list(std::string_view name) const { return at(name).values; }

private:
  std::map<std::string, setting, std::less<>> values_;
};

}  // namespace regatta::cli
