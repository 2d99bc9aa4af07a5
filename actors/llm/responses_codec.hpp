// SPDX-License-Identifier: Apache-2.0
/// \file
/// OpenAI Responses: the request's body, and what its events say. Pure.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "actors/llm/reply.hpp"
#include "messages/llm.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace regatta {

std::string responses_request(const prompt& ask, const provider_config& provider);

/// True if the event is a sign of life: something of the reply, not a ping. `name` is that of the `event:` line; the
/// `type` in the data counts first. `output_cap`: what was asked for; some servers cut without saying so.
bool read_responses_event(std::string_view name, std::string_view data, std::uint32_t output_cap, reply_so_far& reply);

/// A whole answer in one JSON body.
void read_responses_body(std::string_view body, std::uint32_t output_cap, reply_so_far& reply);

}  // namespace regatta
