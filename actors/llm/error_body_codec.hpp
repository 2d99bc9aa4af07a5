// SPDX-License-Identifier: Apache-2.0
/// \file
/// The error in a failed answer's body: JSON, events with JSON in them, or plain text. Pure.
#pragma once

#include "actors/llm/provider_error.hpp"

#include <string_view>

namespace regatta {

/// Never empty-handed: a foreign body is the message.
provider_error read_error_body(std::string_view body);

}  // namespace regatta
