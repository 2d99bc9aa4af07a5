// SPDX-License-Identifier: Apache-2.0
/// \file
/// The reading half of messages/codec.hpp.
#pragma once

#include "messages/wire_put.hpp"

namespace regatta::wire {

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
  // Newer msgpack-cxx (6 and later) writes a float without a fraction as an integer.
  if (in.type == object_kind::POSITIVE_INTEGER) {
    out = static_cast<T>(in.via.u64);
    return true;
  }
  if (in.type == object_kind::NEGATIVE_INTEGER) {
    out = static_cast<T>(in.via.i64);
    return true;
  }
  return false;
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
    const auto& entry = in.via.map.ptr[i];
    if (entry.key.type != object_kind::STR) {
      continue;
    }
    const std::string_view name{entry.key.via.str.ptr, entry.key.via.str.size};
    std::size_t at = 0;
    const auto get_if_named = [&](auto& field) { return field_names<T>[at++] != name || get(entry.val, field); };
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

}  // namespace regatta::wire
