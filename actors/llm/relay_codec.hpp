// SPDX-License-Identifier: Apache-2.0
/// \file
/// The wire of KernelAgent's relay servers: one JSON body there, one JSON list back. It has no stream, no usage and no
/// word for a reply that was cut. Pure.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "actors/llm/reply.hpp"
#include "messages/llm.hpp"

#include <string>
#include <string_view>

namespace regatta {

std::string relay_request(const prompt& ask, const provider_config& provider);

/// A relay sends no events: an error in one is named, everything else is malformed. Never a sign of life.
bool read_relay_event(std::string_view data, reply_so_far& reply);

/// `[{"output": "…", "plugboard_request_id": "…"}]`.
void read_relay_body(std::string_view body, reply_so_far& reply);

}  // namespace regatta
