// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the HTTP wires have in common: parts of a request, and the head of reading an event. Pure.
#pragma once

#include "actors/llm/json_codec.hpp"
#include "actors/llm/reply.hpp"
#include "messages/llm.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace regatta::wire {

/// `[{"role": "system", …}, {"role": "user", …}]`, the first one only if there is a system message.
json::value messages_of(const prompt& ask);

/// KernelAgent's `text`: plain format, and how wordy by model.
json::value text_extras(std::string_view model);

/// The end mark of Chat, which other wires' servers send, too.
bool is_done_mark(std::string_view data);

/// An event's data. Empty if there is none, and with the reply ended as malformed if it is no JSON object.
std::optional<json::value> object_in(std::string_view data, reply_so_far& reply);

/// Ended by an error that the provider told us.
void fail_with(reply_so_far& reply, const provider_error& error);
/// True, and ended by it, if this event or body (or the first entry of this list) has an `error` that is not null.
bool take_error(const json::value& holder, reply_so_far& reply);
/// Ended by bytes that are not this wire's.
void fail_malformed(reply_so_far& reply, std::string why);

}  // namespace regatta::wire
