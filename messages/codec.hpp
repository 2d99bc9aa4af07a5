// SPDX-License-Identifier: Apache-2.0
/// \file
/// Any `wire_struct` to and from a MessagePack map {field name: value}.
///
/// Readers skip keys that they do not know and keep the default of keys that are missing, so programs of adjacent
/// versions understand each other. Enums travel as their names, a variant of messages as its map with a leading
/// `kind`. Bytes may come from a hostile peer: `decode` never throws and believes no length before it has seen the
/// bytes (messages/wire_parse.hpp).
///
/// | C++ | MessagePack |
/// |---|---|
/// | bool, integers (range-checked), floats | bool, int, float |
/// | named enum | str |
/// | chrono duration | int, in the type's own unit |
/// | std::string (UTF-8 by agreement) | str |
/// | strong_id | str |
/// | optional | nil or the value |
/// | vector, map<string, T> | array, map |
/// | wire_struct, variant of wire_messages | map |
#pragma once

#include "messages/enums.hpp"
#include "messages/error.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/wire_parse.hpp"

#include <caf/expected.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {
namespace wire {

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

/// Every `get` answers whether `in` had the right type and range; `out` is untouched or partly filled if not.
bool get(const object& in, wire_struct auto& out);
template <wire_message... Ts>
bool get(const object& in, std::variant<Ts...>& out);

inline bool get(const object& in, bool& out) {
  if (in.type != object_kind::BOOLEAN) {
    return false;
  }
  out = in.via.boolean;
  return true;
}
template <std::integral T>
bool get(const object& in, T& out) {
  const auto take = [&](auto x) {
    if (!std::in_range<T>(x)) {
      return false;
    }
    out = static_cast<T>(x);
    return true;
  };
  switch (in.type) {
    case object_kind::POSITIVE_INTEGER:
      return take(in.via.u64);
    case object_kind::NEGATIVE_INTEGER:
      return take(in.via.i64);
    default:
      return false;
  }
}
template <std::floating_point T>
bool get(const object& in, T& out) {
  if (in.type == object_kind::FLOAT32 || in.type == object_kind::FLOAT64) {
    out = static_cast<T>(in.via.f64);
    return true;
  }
  std::int64_t whole = 0;
  const bool good = get(in, whole);
  out = good ? static_cast<T>(whole) : out;
  return good;
}
inline bool get(const object& in, std::string& out) {
  if (in.type != object_kind::STR) {
    return false;
  }
  out.assign(in.via.str.ptr, in.via.str.size);
  return true;
}
template <class Tag>
bool get(const object& in, strong_id<Tag>& out) {
  return get(in, out.text);
}
bool get(const object& in, named_enum auto& out) {
  std::string name;
  const auto value =
      get(in, name) ? from_name<std::remove_cvref_t<decltype(out)>>(name) : std::nullopt;
  out = value.value_or(out);
  return value.has_value();
}
bool get(const object& in, duration auto& out) {
  using T = std::remove_cvref_t<decltype(out)>;
  typename T::rep count{};
  const bool good = get(in, count);
  out = good ? T{count} : out;
  return good;
}
template <class T>
bool get(const object& in, std::optional<T>& out) {
  if (in.type == object_kind::NIL) {
    out.reset();
    return true;
  }
  return get(in, out.emplace());
}
template <class T>
bool get(const object& in, std::vector<T>& out) {
  if (in.type != object_kind::ARRAY) {
    return false;
  }
  out.clear();
  for (std::uint32_t i = 0; i < in.via.array.size; ++i) {
    if (!get(in.via.array.ptr[i], out.emplace_back())) {
      return false;
    }
  }
  return true;
}
template <class T>
bool get(const object& in, std::map<std::string, T>& out) {
  if (in.type != object_kind::MAP) {
    return false;
  }
  for (std::uint32_t i = 0; i < in.via.map.size; ++i) {
    std::string key;
    const auto& entry = in.via.map.ptr[i];
    if (!get(entry.key, key) || !get(entry.val, out[key])) {
      return false;
    }
  }
  return true;
}
bool get(const object& in, wire_struct auto& out) {
  using T = std::remove_cvref_t<decltype(out)>;
  if (in.type != object_kind::MAP) {
    return false;
  }
  for (std::uint32_t i = 0; i < in.via.map.size; ++i) {
    const auto& [key, value] = in.via.map.ptr[i];
    if (key.type != object_kind::STR) {
      continue;
    }
    const std::string_view name{key.via.str.ptr, key.via.str.size};
    std::size_t at = 0;
    const auto get_if_named = [&](auto& field) { return field_names<T>[at++] != name || get(value, field); };
    if (!std::apply([&](auto&... xs) { return (get_if_named(xs) && ...); }, out.fields())) {
      return false;
    }
  }
  return true;
}
template <wire_message... Ts>
bool get(const object& in, std::variant<Ts...>& out) {
  const auto kind = kind_in(in);
  const auto get_if_kind = [&]<class T>(std::type_identity<T>) {
    return T::kind == kind && get(in, out.template emplace<T>());
  };
  return (get_if_kind(std::type_identity<Ts>{}) || ...);
}

}  // namespace wire

/// Whatever `wire::put` knows: usually a `wire_struct`, but an enum or a vector may be an answer, too.
std::string encode(const auto& x) {
  wire::string_sink sink;
  wire::packer out{sink};
  wire::put(out, x);
  return std::move(sink.bytes);
}

/// Fails: `ec::malformed_frame`.
template <class T>
caf::expected<T> decode(std::string_view bytes) noexcept {
  try {
    msgpack::zone zone;
    T result{};
    const auto root = wire::parse(zone, bytes);
    if (root && wire::get(*root, result)) {
      return result;
    }
  } catch (const std::exception&) {
    // msgpack reports by exception what the first pass let through; strings may fail to allocate.
    return caf::make_error(ec::malformed_frame);
  }
  return caf::make_error(ec::malformed_frame);
}

}  // namespace regatta
