// SPDX-License-Identifier: Apache-2.0
/// \file
/// Enums with stable names. Outside the program (wire, events, store, JSON, terminal) an enum is always its
/// name, never its number: add names, never rename one.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace regatta {

/// Specialised once per enum: `static constexpr std::array<std::pair<E, std::string_view>, N> value`.
template <class E>
struct enum_names;

template <class E>
concept named_enum = std::is_enum_v<E> && requires { enum_names<E>::value.size(); };

template <named_enum E>
constexpr std::string_view name_of(E x) {
  for (const auto& [value, name] : enum_names<E>::value) {
    if (value == x) {
      return name;
    }
  }
  return "invalid";
}

template <named_enum E>
std::string to_string(E x) {
  return std::string{name_of(x)};
}

/// Empty if no value has this name.
template <named_enum E>
constexpr std::optional<E> from_name(std::string_view name) {
  for (const auto& [value, known] : enum_names<E>::value) {
    if (known == name) {
      return value;
    }
  }
  return std::nullopt;
}

/// "a, b, c": for error texts that name what is allowed.
template <named_enum E>
std::string all_names() {
  std::string out;
  for (const auto& entry : enum_names<E>::value) {
    out += (out.empty() ? "" : ", ") + std::string{entry.second};
  }
  return out;
}

}  // namespace regatta

/// At namespace scope outside `regatta`: REGATTA_ENUM_NAMES(regatta::outcome, 2, {{…, "exited"}, …}).
#define REGATTA_ENUM_NAMES(type_, count_, ...)                                          \
  template <>                                                                           \
  struct regatta::enum_names<type_> {                                                   \
    static constexpr std::array<std::pair<type_, std::string_view>, count_> value = {   \
        {__VA_ARGS__}};                                                                 \
  }
