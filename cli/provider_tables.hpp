// SPDX-License-Identifier: Apache-2.0
/// \file
/// PROVIDER TABLES: a `[providers.NAME]` table, merged over all files, as what the gateway reads.
#pragma once

#include "cli/providers.hpp"

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace regatta::cli {

/// A relay sends nothing until its reply is whole; KernelAgent waits this long for it.
inline constexpr std::chrono::seconds relay_timeout{600};

/// A provider's table with the stronger file's keys on top. Empty if no file has it.
provider_table merged_table(const std::string& name, const std::vector<config_file>& files);

std::set<std::string> configured_names(const std::vector<config_file>& files);

/// The first text of a key, or empty.
std::string text_in(const provider_table& table, const std::string& key);

/// A variable's value; the placeholder of KernelAgent's example `.env` counts as absent.
std::string usable_key(const environment& env, const std::string& variable);
bool is_placeholder_key(const std::string& value);

/// Fails (`ec::invalid_config`) for a kind without what it cannot work without. `place` names the source.
caf::expected<void> check_whole(const provider_config& x, const std::string& place);

caf::expected<provider_choice> provider_from_table(const std::string& name, const settings& values,
                                                   const std::vector<config_file>& files, const environment& env);

}  // namespace regatta::cli
