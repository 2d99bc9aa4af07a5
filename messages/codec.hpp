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

#include "messages/error.hpp"
#include "messages/wire_get.hpp"
#include "messages/wire_put.hpp"

#include <caf/expected.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace regatta {

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
