// SPDX-License-Identifier: Apache-2.0
/// \file
/// Chat Completions: the request's body, and what its chunks say. Pure.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "actors/llm/reply.hpp"
#include "messages/llm.hpp"

#include <string>
#include <string_view>

namespace regatta {

std::string chat_request(const prompt& ask, const provider_config& provider);

/// True if the chunk is a sign of life.
bool read_chat_event(std::string_view data, reply_so_far& reply);

/// A whole answer in one JSON body.
void read_chat_body(std::string_view body, reply_so_far& reply);

}  // namespace regatta
