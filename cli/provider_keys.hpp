// SPDX-License-Identifier: Apache-2.0
/// \file
/// What may stand in a `[providers.NAME]` table.
#pragma once

#include "cli/options.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace regatta::cli {

struct provider_key {
  std::string_view name;
  value_rule rule;
  bool is_list = false;
  std::string_view help{};
};

/// What may stand in `[providers.NAME.prices."MODEL"]`: currency units per million tokens.
inline constexpr std::array<std::string_view, 4> price_keys{"input", "output", "cached_input", "cache_write"};
/// A million units for a million tokens is beyond any price list.
inline constexpr value_rule price_rule{value_kind::number, 0, 1'000'000};

std::span<const provider_key> provider_keys();
/// Null if there is none.
const provider_key* find_provider_key(std::string_view name);

/// Headers that carry credentials (Authorization, x-api-key …), in any case.
bool is_secret_header(std::string_view name);

}  // namespace regatta::cli
