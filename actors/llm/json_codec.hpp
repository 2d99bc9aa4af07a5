// SPDX-License-Identifier: Apache-2.0
/// \file
/// JSON from a provider, read without believing it: no exception, no type assumed, ill-formed text repaired. Shared
/// by the codecs of this folder; nothing else sees the JSON library.
#pragma once

#include "actors/llm/provider_error.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace regatta::json {

using value = nlohmann::json;

/// Discarded (`is_discarded()`) if it is not JSON, or nested deeper than 100 levels. Bytes that are not UTF-8 and
/// halves of surrogate pairs become U+FFFD first.
value parse(std::string_view bytes);

/// As compact text; ill-formed UTF-8 in strings becomes U+FFFD.
std::string to_text(const value& x);

/// Member of an object; null if `x` is no object or has no such member.
const value& at(const value& x, const char* key);
/// The string there; empty if it is anything else.
std::string text(const value& x, const char* key);
/// Strings as they are, numbers and booleans as JSON writes them, else empty.
std::string loose_text(const value& x, const char* key);
/// A count: an unsigned integer, or a float that is one.
std::optional<std::uint64_t> count(const value& x, const char* key);

/// `{"error": {…}}`, `{"error": "text"}`, `{"message": …}`, `{"detail": …}`, `[{"error": …}]`; empty if it is none of
/// these.
std::optional<provider_error> error_in(const value& body);

}  // namespace regatta::json
