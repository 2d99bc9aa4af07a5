// SPDX-License-Identifier: Apache-2.0
/// \file
/// MONEY: integer nano-units (1e-9) of whatever currency the prices are in, so that sums are exact. Token limits go
/// with it: a budget is both.
#pragma once

#include "messages/enums.hpp"
#include "messages/fields.hpp"

#include <cstdint>

namespace regatta {

/// 1e-9 of a currency unit. int64 holds 9.2e9 units.
using nano_units = std::int64_t;
inline constexpr nano_units nano_per_unit = 1'000'000'000;

/// What may be spent within some bounds. 0: no limit.
struct spending_limits {
  nano_units money = 0;
  std::uint64_t tokens = 0;  ///< Input and output together.
  bool operator==(const spending_limits&) const = default;
  REGATTA_FIELDS(money, tokens);
};

/// Where the amount of a call's charge comes from.
enum class charge_basis : std::uint8_t {
  none,      ///< Nothing can have been billed: refused before the model ran, or no price is known.
  usage,     ///< The provider's own usage, by our price table.
  reserved,  ///< No usage came, but the provider may bill: the whole reservation.
};

}  // namespace regatta

REGATTA_ENUM_NAMES(regatta::charge_basis, 3, {regatta::charge_basis::none, "none"},
                   {regatta::charge_basis::usage, "usage"}, {regatta::charge_basis::reserved, "reserved"});
