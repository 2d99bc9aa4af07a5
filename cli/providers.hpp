// SPDX-License-Identifier: Apache-2.0
/// \file
/// PROVIDERS: from tables, flags and variables to what the gateway reads, and which of them races.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "cli/config.hpp"
#include "cli/environment.hpp"
#include "cli/settings.hpp"

#include <caf/expected.hpp>

#include <string>
#include <vector>

namespace regatta::cli {

struct provider_choice {
  provider_config provider;
  std::string model;                      ///< Its default; workers may have others.
  std::string chosen_by;                  ///< "--replay", "llm.provider", "OPENAI_API_KEY" …
  std::vector<std::string> known_models;  ///< Empty: any.
  std::string key_source;                 ///< "OPENAI_API_KEY", path of a file; empty: no key is sent.
};

/// The provider of the race. Fails: `ec::invalid_config`, `ec::unknown_provider`; if nothing at all is configured the
/// text says what to set. There is never a silent stand-in.
caf::expected<provider_choice> choose_provider(const settings& values, const std::vector<config_file>& files,
                                               const environment& env);

/// A `[providers.NAME]` table, or what is known without one. Fails like the above.
caf::expected<provider_choice> named_provider(const std::string& name, const settings& values,
                                              const std::vector<config_file>& files, const environment& env);

/// "PROG 'an argument' x" -> words, by the shell's rules for blanks, quotes and backslash; nothing is expanded.
/// Fails: `ec::invalid_config`.
caf::expected<std::vector<std::string>> split_command(std::string_view text);

/// Variables that hold keys and whether they are set ("set, from …", never the value), for `config` and `doctor`.
struct key_state {
  std::string variable;
  bool is_set = false;
  bool is_placeholder = false;  ///< "your-api-key-here": counts as absent.
  std::string source;
};
std::vector<key_state> key_states(const std::vector<config_file>& files, const environment& env);

}  // namespace regatta::cli
