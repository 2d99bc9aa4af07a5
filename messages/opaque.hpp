// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lets every struct with `fields()` be a CAF message. CAF's own serializer never sees them: inside a process they
/// travel as values, between processes as MessagePack (messages/codec.hpp). So they are opaque to CAF and need
/// neither type ids nor inspectors (docs/adr/0002).
#pragma once

#include "messages/fields.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <type_traits>

namespace caf {

template <regatta::wire_struct T>
struct allowed_unsafe_message_type<T> : std::true_type {};

}  // namespace caf
