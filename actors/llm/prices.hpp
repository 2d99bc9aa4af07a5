// SPDX-License-Identifier: Apache-2.0
/// \file
/// PRICES: what tokens cost, in whole nano-units. Pure.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "messages/llm.hpp"
#include "messages/money.hpp"

#include <cstdint>
#include <string>

namespace regatta {

/// Of this model, else of `*`; null: unknown.
inline const token_prices* prices_of(const provider_config& provider, const std::string& model) {
  auto it = provider.prices.find(model);
  if (it == provider.prices.end()) {
    it = provider.prices.find("*");
  }
  return it == provider.prices.end() ? nullptr : &it->second;
}

/// Names a price in the ledger: SHA-256 over currency and numbers. Empty without one.
std::string price_digest(const token_prices* prices, const std::string& currency);

struct priced_tokens {
  std::uint64_t input = 0;
  std::uint64_t cached = 0;         ///< Part of `input`.
  std::uint64_t cache_written = 0;  ///< Part of `input`.
  std::uint64_t output = 0;
};
/// Rounded up once, at the end; never wraps: past int64 it is int64's largest.
nano_units price_of(const token_prices& prices, const priced_tokens& x);
/// Whatever part of the input the provider's cache may have had or taken.
nano_units largest_price_of(const token_prices& prices, std::uint64_t input, std::uint64_t output);

/// Sums that stop at the largest number instead of wrapping: usage is the provider's word.
nano_units add_money(nano_units a, nano_units b);
std::uint64_t add_tokens(std::uint64_t a, std::uint64_t b);

}  // namespace regatta
