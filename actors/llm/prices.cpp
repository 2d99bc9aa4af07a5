// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/prices.hpp"

#include "messages/digest.hpp"

#include <algorithm>
#include <limits>

namespace regatta {

namespace {

/// Three products of 64-bit numbers: 128 bits hold no more than four of them unsigned.
__extension__ using wide = unsigned __int128;

constexpr auto largest_money = std::numeric_limits<nano_units>::max();
/// Prices are per so many tokens.
constexpr std::uint64_t price_unit = 1'000'000;

wide product(std::uint64_t tokens, nano_units price) {
  return static_cast<wide>(tokens) * static_cast<std::uint64_t>(std::max<nano_units>(price, 0));
}

}  // namespace

std::string price_digest(const token_prices* prices, const std::string& currency) {
  return prices == nullptr ? std::string{}
                           : sha256_hex(currency + "/" + std::to_string(prices->input) + "/" +
                                        std::to_string(prices->cached_input) + "/" + std::to_string(prices->output));
}

nano_units price_of(const token_prices& prices, std::uint64_t input, std::uint64_t cached, std::uint64_t output) {
  const auto from_cache = std::min(cached, input);
  const auto sum = product(input - from_cache, prices.input) + product(from_cache, prices.cached_input) +
                   product(output, prices.output);
  const auto rounded = (sum + (price_unit - 1)) / price_unit;
  return rounded > static_cast<wide>(largest_money) ? largest_money : static_cast<nano_units>(rounded);
}

nano_units add_money(nano_units a, nano_units b) {
  return a > largest_money - b ? largest_money : a + b;
}

std::uint64_t add_tokens(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

}  // namespace regatta
