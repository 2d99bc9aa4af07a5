// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

namespace regatta::cli {

namespace {

std::optional<double> number_in(std::string_view text) {
  // strtod alone would take leading blanks, hex, "inf" and "nan".
  if (text.empty() || text.find_first_not_of("+-0123456789.eE") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string copy{text};
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() + copy.size() && std::isfinite(value) ? std::optional{value} : std::nullopt;
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

/// "12.5" -> 12'500'000'000. No sign, no exponent: an amount is written as it is meant.
std::optional<std::int64_t> money_in(std::string_view text) {
  constexpr std::size_t most_before = 10;
  constexpr std::size_t most_behind = 9;
  const auto point = std::min(text.find('.'), text.size());
  const auto before = text.substr(0, point);
  const auto behind = point == text.size() ? std::string_view{} : text.substr(point + 1);
  const auto is_digits = [](std::string_view x) { return x.find_first_not_of("0123456789") == std::string_view::npos; };
  if (before.empty() || before.size() > most_before || behind.size() > most_behind || !is_digits(before) ||
      !is_digits(behind) || (point != text.size() && behind.empty())) {
    return std::nullopt;
  }
  const auto digits = std::string{before} + std::string{behind} + std::string(most_behind - behind.size(), '0');
  return integer_in(digits);
}

using unit = std::pair<std::string_view, std::int64_t>;
/// Longest first: "KiB" ends in "B".
constexpr std::array<unit, 7> size_units = {{{"KiB", 1024},
                                             {"MiB", 1024 * 1024},
                                             {"GiB", 1024 * 1024 * 1024},
                                             {"K", 1024},
                                             {"M", 1024 * 1024},
                                             {"G", 1024 * 1024 * 1024},
                                             {"B", 1}}};
constexpr std::array<unit, 3> time_units = {{{"s", 1}, {"m", 60}, {"h", 3600}}};

template <std::size_t N>
std::optional<std::int64_t> with_unit(std::string_view text, const std::array<unit, N>& units) {
  std::int64_t factor = 1;
  for (const auto& [suffix, value] : units) {
    if (text.size() > suffix.size() && text.ends_with(suffix)) {
      factor = value;
      text.remove_suffix(suffix.size());
      break;
    }
  }
  const auto count = integer_in(text);
  // Far above every bound in the table and far below overflow.
  constexpr std::int64_t most = 1'000'000'000;
  if (!count || *count < 0 || (factor > 1 && *count > most)) {
    return std::nullopt;
  }
  return *count * factor;
}

bool is_one_of(std::string_view names, std::string_view text) {
  while (!names.empty()) {
    const auto comma = names.find(", ");
    if (names.substr(0, comma) == text) {
      return true;
    }
    names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 2);
  }
  return false;
}

bool is_flag_word(std::string_view text) {
  return is_one_of("true, false, 1, 0, yes, no, on, off", text);
}

std::string plain(double x) {
  std::string text = std::to_string(x);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string range_text(const value_rule& rule) {
  const bool is_open = rule.max >= 9e15;
  return is_open ? "of at least " + plain(rule.min) : "from " + plain(rule.min) + " to " + plain(rule.max);
}

constexpr std::string_view tolerance_types = "float64, float32, float16, bfloat16, float8";
constexpr std::string_view tolerance_keys = "atol, rtol, norm";

std::optional<tolerance_text> tolerance_in(std::string_view text) {
  const auto dot = text.find('.'), is = text.find('=');
  if (dot == std::string_view::npos || is == std::string_view::npos || dot > is) {
    return std::nullopt;
  }
  const auto dtype = text.substr(0, dot), key = text.substr(dot + 1, is - dot - 1);
  const auto value = number_in(text.substr(is + 1));
  if (!is_one_of(tolerance_types, dtype) || !is_one_of(tolerance_keys, key) || !value) {
    return std::nullopt;
  }
  return tolerance_text{std::string{dtype}, std::string{key}, *value};
}

}  // namespace

bool fits(const value_rule& rule, std::string_view text) {
  const auto in_range = [&](auto value) {
    return value && static_cast<double>(*value) >= rule.min && static_cast<double>(*value) <= rule.max;
  };
  switch (rule.kind) {
    case value_kind::text:
      return !text.empty() && text.find('\0') == std::string_view::npos;
    case value_kind::flag:
      return is_flag_word(text);
    case value_kind::integer:
      return in_range(integer_in(text));
    case value_kind::number:
      return in_range(number_in(text));
    case value_kind::seconds:
      return in_range(with_unit(text, time_units));
    case value_kind::size:
      return in_range(with_unit(text, size_units));
    case value_kind::choice:
      return is_one_of(rule.names, text);
    case value_kind::tolerance: {
      const auto found = tolerance_in(text);
      return found && in_range(std::optional{found->value});
    }
    case value_kind::money: {
      const auto amount = money_in(text);
      return amount && *amount > 0 && static_cast<double>(*amount) <= rule.max * 1e9;
    }
  }
  return false;
}

std::string allowed_text(const value_rule& rule) {
  switch (rule.kind) {
    case value_kind::text:
      return "a text that is not empty";
    case value_kind::flag:
      return "true, false";
    case value_kind::integer:
      return "a whole number " + range_text(rule);
    case value_kind::number:
      return "a number " + range_text(rule);
    case value_kind::seconds:
      return "seconds, a whole number " + range_text(rule) + " (or with s, m or h behind it)";
    case value_kind::size:
      return "bytes, a whole number " + range_text(rule) + " (or with KiB, MiB or GiB behind it)";
    case value_kind::choice:
      return std::string{rule.names};
    case value_kind::tolerance:
      return "DTYPE.KEY=X with DTYPE one of " + std::string{tolerance_types} + ", KEY one of " + std::string{tolerance_keys} +
             ", X a number " + range_text(rule);
    case value_kind::money:
      return "an amount above 0 and up to " + plain(rule.max) + ", with at most nine digits behind the point";
  }
  return {};
}

tolerance_text to_tolerance(std::string_view text) {
  return tolerance_in(text).value_or(tolerance_text{});
}
std::int64_t to_integer(std::string_view text) {
  return integer_in(text).value_or(0);
}
std::int64_t to_seconds(std::string_view text) {
  return with_unit(text, time_units).value_or(0);
}
std::uint64_t to_bytes(std::string_view text) {
  return static_cast<std::uint64_t>(with_unit(text, size_units).value_or(0));
}
double to_number(std::string_view text) {
  return number_in(text).value_or(0);
}
std::int64_t to_money(std::string_view text) {
  return money_in(text).value_or(0);
}

const option_entry* find_option(std::string_view name) {
  for (const auto& entry : all_options()) {
    if (entry.name == name || (!entry.alias.empty() && entry.alias == name)) {
      return &entry;
    }
  }
  return nullptr;
}

std::string env_name(const option_entry& entry) {
  std::string out = "REGATTA_";
  for (const char c : entry.name) {
    out += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return out;
}

namespace {

/// Edit distance; both texts are short names.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view got, std::span<const std::string> known) {
  const auto short_got = got.substr(0, 64);
  std::string best;
  std::size_t best_distance = short_got.size() / 3 + 2;
  for (const auto& name : known) {
    const auto d = distance(short_got, name);
    if (d < best_distance) {
      best_distance = d;
      best = name;
    }
  }
  return best;
}

}  // namespace regatta::cli
