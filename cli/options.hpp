// SPDX-License-Identifier: Apache-2.0
/// \file
/// OPTIONS: the one table of everything that can be set. Flags, environment, TOML files, `regatta config` and
/// `--help` all read it, so they cannot drift apart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace regatta::cli {

enum class value_kind : std::uint8_t {
  text,
  flag,  ///< true or false.
  integer,
  number,   ///< With fraction.
  seconds,  ///< A whole number, or with s, m, h behind it.
  size,     ///< Bytes, or with KiB, MiB, GiB behind them.
  choice,   ///< One of `names`.
  tolerance,  ///< float32.atol=1e-3; bounds of the number.
  money,    ///< A decimal number with up to nine digits behind the point; bounds in whole units.
};

/// What a value must be. Bounds hold for integer, number, seconds, size and money.
struct value_rule {
  value_kind kind = value_kind::text;
  double min = 0;
  double max = 9e15;
  std::string_view names{};  ///< "all, winner, none".
};

bool fits(const value_rule& rule, std::string_view text);
/// "a whole number from 1 to 10000": the end of every error text about a value.
std::string allowed_text(const value_rule& rule);

/// For texts that `fits` has passed.
std::int64_t to_integer(std::string_view text);
std::int64_t to_seconds(std::string_view text);
std::uint64_t to_bytes(std::string_view text);
double to_number(std::string_view text);
/// `float32.atol=1e-3` in its parts.
struct tolerance_text {
  std::string dtype, key;
  double value = 0;
};
tolerance_text to_tolerance(std::string_view text);
/// Exactly, in nano-units.
std::int64_t to_money(std::string_view text);

struct option_entry {
  std::string_view name;        ///< `max-iters`: `--max-iters`, REGATTA_MAX_ITERS.
  std::string_view alias;       ///< A second flag, without dashes.
  std::string_view toml;        ///< `race.max_iters`; empty: not in files.
  std::string_view own_env;     ///< The providers' own variable, below REGATTA_*.
  std::string_view fallback;    ///< Empty: unset.
  std::string_view value_name;  ///< In `--help`.
  std::string_view group;
  std::string_view help;
  value_rule rule;
  bool is_list = false;        ///< May be given several times, or as a TOML array; REGATTA_* splits at commas.
  bool is_comma_list = false;  ///< The flag's text is split at commas, too.
};

/// All options of `regatta race`, in the order of `--help`.
std::span<const option_entry> all_options();
/// Null if there is none.
const option_entry* find_option(std::string_view name);
/// `REGATTA_MAX_ITERS`.
std::string env_name(const option_entry& entry);

/// The known name that `got` is most likely a slip of; empty if none is near.
std::string nearest(std::string_view got, std::span<const std::string> known);

}  // namespace regatta::cli
