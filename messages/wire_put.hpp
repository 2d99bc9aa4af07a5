// SPDX-License-Identifier: Apache-2.0
/// \file
/// The writing half of messages/codec.hpp.
#pragma once

#include "messages/enums.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/wire_parse.hpp"

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace regatta::wire {

template <class T>
concept duration = requires {
  typename T::period;
  typename T::rep;
};

struct string_sink {
  std::string bytes;
  void write(const char* data, std::size_t size) { bytes.append(data, size); }
};
using packer = msgpack::packer<string_sink>;

inline void put_text(packer& out, std::string_view x) {
  out.pack_str(static_cast<std::uint32_t>(x.size()));
  out.pack_str_body(x.data(), static_cast<std::uint32_t>(x.size()));
}

void put(packer& out, const wire_struct auto& x);
template <wire_message... Ts>
void put(packer& out, const std::variant<Ts...>& x);

inline void put(packer& out, const std::string& x) { put_text(out, x); }
template <class Tag>
void put(packer& out, const strong_id<Tag>& x) {
  put_text(out, x.text);
}
template <class T>
requires std::integral<T> || std::floating_point<T>
void put(packer& out, T x) { out.pack(x); }
void put(packer& out, named_enum auto x) { put_text(out, name_of(x)); }
void put(packer& out, const duration auto& x) { out.pack(x.count()); }
template <class T>
void put(packer& out, const std::optional<T>& x) {
  if (x) {
    put(out, *x);
  } else {
    out.pack_nil();
  }
}
template <class T>
void put(packer& out, const std::vector<T>& xs) {
  out.pack_array(static_cast<std::uint32_t>(xs.size()));
  for (const auto& x : xs) {
    put(out, x);
  }
}
template <class T>
void put(packer& out, const std::map<std::string, T>& xs) {
  out.pack_map(static_cast<std::uint32_t>(xs.size()));
  for (const auto& [key, x] : xs) {
    put_text(out, key);
    put(out, x);
  }
}

/// The entries of a struct's map without its header, for maps that hold more than the struct.
template <wire_struct T>
void put_entries(packer& out, const T& x) {
  std::size_t i = 0;
  const auto put_field = [&](const auto& field) {
    put_text(out, field_names<T>[i++]);
    put(out, field);
  };
  std::apply([&](const auto&... xs) { (put_field(xs), ...); }, x.fields());
}
void put(packer& out, const wire_struct auto& x) {
  using T = std::remove_cvref_t<decltype(x)>;
  out.pack_map(static_cast<std::uint32_t>(field_count<T>));
  put_entries(out, x);
}
template <wire_message... Ts>
void put(packer& out, const std::variant<Ts...>& x) {
  std::visit(
      [&]<class T>(const T& body) {
        out.pack_map(static_cast<std::uint32_t>(field_count<T> + 1));
        put_text(out, "kind");
        put_text(out, T::kind);
        put_entries(out, body);
      },
      x);
}

}  // namespace regatta::wire
