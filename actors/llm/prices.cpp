// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/prices.hpp"

#include "messages/digest.hpp"

#include <algorithm>
#include <limits>

namespace regatta {

namespace {

/// Input, which is taken apart, and output, each 64 bits of tokens times 63 bits of price: 128 bits hold two of them.
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
                                        std::to_string(prices->cached_input) + "/" + std::to_string(prices->output) +
                                        (prices->cache_write ? "/" + std::to_string(*prices->cache_write) : ""));
}

nano_units price_of(const token_prices& prices, const priced_tokens& x) {
  const auto written = std::min(x.cache_written, x.input);
  const auto from_cache = std::min(x.cached, x.input - written);
  const auto sum = product(x.input - written - from_cache, prices.input) + product(from_cache, prices.cached_input) +
                   product(written, prices.cache_write.value_or(prices.input)) + product(x.output, prices.output);
  const auto rounded = (sum + (price_unit - 1)) / price_unit;
  return rounded > static_cast<wide>(largest_money) ? largest_money : static_cast<nano_units>(rounded);
}

nano_units largest_price_of(const token_prices& prices, std::uint64_t input, std::uint64_t output) {
  return std::max({price_of(prices, {input, 0, 0, output}), price_of(prices, {input, input, 0, output}),
                   price_of(prices, {input, 0, input, output})});
}

nano_units add_money(nano_units a, nano_units b) {
  return a > largest_money - b ? largest_money : a + b;
}

std::uint64_t add_tokens(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

}  // namespace regatta
