// SPDX-License-Identifier: Apache-2.0
/// \file
/// Money for people: `12.5 USD`, `0.000120`. Exact; in whatever currency the prices are.
#pragma once

#include "messages/money.hpp"

#include <string>

namespace regatta {

/// At least two digits behind the point, and as many more as there are.
inline std::string money_text(nano_units x) {
  const bool is_negative = x < 0;
  const auto size = is_negative ? 0ULL - static_cast<unsigned long long>(x) : static_cast<unsigned long long>(x);
  constexpr auto unit = static_cast<unsigned long long>(nano_per_unit);
  auto behind = std::to_string(unit + size % unit).substr(1);
  while (behind.size() > 2 && behind.back() == '0') {
    behind.pop_back();
  }
  return (is_negative ? "-" : "") + std::to_string(size / unit) + "." + behind;
}

/// `currency`: empty if nobody knows it, or there are several.
inline std::string money_text(nano_units x, const std::string& currency) {
  return money_text(x) + (currency.empty() ? "" : " " + currency);
}

}  // namespace regatta
