// SPDX-License-Identifier: Apache-2.0
/// \file
/// A value of any wire type with every field away from its default, the same on each call.
#pragma once

#include "messages/enums.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"

#include <chrono>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace regatta::test {

class filler {
public:
  void fill(bool& x) { x = true; }
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void fill(T& x) { x = static_cast<T>(next()); }
  void fill(std::string& x) { x = "text " + std::to_string(next()) + " \xE2\x9C\x93"; }
  template <class Tag>
  void fill(strong_id<Tag>& x) {
    x.text = "id_" + std::to_string(next());
  }
  void fill(named_enum auto& x) { x = enum_names<std::remove_reference_t<decltype(x)>>::value.back().first; }
  template <class Rep, class Period>
  void fill(std::chrono::duration<Rep, Period>& x) {
    x = std::chrono::duration<Rep, Period>{static_cast<Rep>(next())};
  }
  template <class T>
  void fill(std::optional<T>& x) {
    fill(x.emplace());
  }
  template <class T>
  void fill(std::vector<T>& x) {
    fill(x.emplace_back());
  }
  template <class... Ts>
  void fill(std::variant<Ts...>& x) {
    std::visit([&](auto& body) { fill(body); }, x);
  }
  void fill(wire_struct auto& x) {
    std::apply([&](auto&... fields) { (fill(fields), ...); }, x.fields());
  }

private:
  int next() { return ++count_ % 100; }
  int count_ = 0;
};

template <class T>
T filled(T x = {}) {
  filler{}.fill(x);
  return x;
}

}  // namespace regatta::test
