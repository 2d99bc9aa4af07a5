// SPDX-License-Identifier: Apache-2.0
/// \file
/// MessagePack from a peer that may be hostile, parsed into an object tree without believing it. Plain
/// `msgpack::unpack` would: five bytes can make it allocate 32 GiB.
#pragma once

// msgpack-cxx 4 and later want Boost headers unless told otherwise.
#ifndef MSGPACK_NO_BOOST
#define MSGPACK_NO_BOOST
#endif
#include <msgpack.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace regatta::wire {

using object = msgpack::object;
using object_kind = msgpack::type::object_type;

/// Deeper than any message of ours, shallow enough that recursion cannot hurt.
inline constexpr std::uint32_t max_depth = 16;
/// Array and map entries in one message. Bounds the object tree to 24 B each (1.5 MiB).
inline constexpr std::uint64_t max_values = 65'536;

/// Parses exactly one value; strings in it refer into `bytes`, which must outlive the object. Empty if it is not
/// one whole value, is too deep, has too many entries or an extension type. May throw msgpack's exceptions.
std::optional<object> parse(msgpack::zone& zone, std::string_view bytes);

/// The map's `kind` entry; empty if there is none.
std::string_view kind_in(const object& map);

}  // namespace regatta::wire
