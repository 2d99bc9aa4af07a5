// SPDX-License-Identifier: Apache-2.0
/// \file
/// Anthropic Messages: the request's body, and what its events say. Pure.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "actors/llm/reply.hpp"
#include "messages/llm.hpp"

#include <string>
#include <string_view>

namespace regatta {

/// The version that the request's header names; this file speaks it.
inline constexpr const char* anthropic_version = "2023-06-01";

/// `max_tokens` is always there: the wire wants it.
std::string anthropic_request(const prompt& ask, const provider_config& provider);

/// True if the event is a sign of life: something of the message, not a ping. `name` is that of the `event:` line; the
/// `type` in the data counts first.
bool read_anthropic_event(std::string_view name, std::string_view data, reply_so_far& reply);

/// A whole message in one JSON body.
void read_anthropic_body(std::string_view body, reply_so_far& reply);

}  // namespace regatta
