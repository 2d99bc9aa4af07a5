// SPDX-License-Identifier: Apache-2.0
/// \file
/// BUILT-IN PROVIDERS: known without a table, since variables say where they are and with which key.
#pragma once

#include "cli/providers.hpp"

#include <string>

namespace regatta::cli {

/// openai (Responses), responses, chat, anthropic, relay.
bool is_built_in(const std::string& name);
/// The names, for error texts.
inline constexpr std::string_view built_in_names = "openai, responses, chat, anthropic, relay";

/// Fails: `ec::invalid_config`, naming the variable that is missing.
caf::expected<provider_choice> built_in_provider(const std::string& name, const settings& values,
                                                 const environment& env);

/// Which of them the variables speak of, and which variable says so. A model of Anthropic's goes to Anthropic if its
/// key is there. Empty name: none.
struct spoken_of {
  std::string name;
  std::string source;
};
spoken_of provider_of_variables(const settings& values, const environment& env);

}  // namespace regatta::cli
