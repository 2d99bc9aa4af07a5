// SPDX-License-Identifier: Apache-2.0
/// \file
/// One line per struct lists its fields; codec, events and tests all read that line, so names cannot drift.
///
///   struct spawn_worker {
///     race_id race;
///     std::uint32_t round = 0;
///     REGATTA_MESSAGE(spawn_worker, race, round);
///   };
///
/// Plain C++: sandbox/ may use it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

/// For a struct that is part of a message. The text of the list gives the names on the wire.
#define REGATTA_FIELDS(...)                            \
  auto fields() { return std::tie(__VA_ARGS__); }       \
  auto fields() const { return std::tie(__VA_ARGS__); } \
  static constexpr std::string_view field_list = #__VA_ARGS__

/// For a struct that travels by itself: `kind_` is its name in a frame. Never rename one in use.
#define REGATTA_MESSAGE(kind_, ...)                \
  static constexpr std::string_view kind = #kind_; \
  REGATTA_FIELDS(__VA_ARGS__)

namespace regatta {

template <class T>
concept wire_struct = requires(T x) {
  x.fields();
  { T::field_list } -> std::convertible_to<std::string_view>;
};

template <class T>
concept wire_message = wire_struct<T> && requires {
  { T::kind } -> std::convertible_to<std::string_view>;
};

template <wire_struct T>
inline constexpr std::size_t field_count = std::tuple_size_v<decltype(std::declval<T&>().fields())>;

/// "a, b, c" -> {"a", "b", "c"}, at compile time.
template <wire_struct T>
inline constexpr auto field_names = [] {
  std::array<std::string_view, field_count<T>> names{};
  std::string_view rest = T::field_list;
  for (auto& name : names) {
    const auto comma = rest.find(',');
    name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    rest.remove_prefix(rest.starts_with(' ') ? 1 : 0);
  }
  return names;
}();

}  // namespace regatta
