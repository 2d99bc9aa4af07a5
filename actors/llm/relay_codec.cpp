// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/relay_codec.hpp"

#include "actors/llm/wire_codec.hpp"
#include "actors/llm/wire_request.hpp"

namespace regatta {

namespace {

/// KernelAgent always sends them; relays may not have defaults of their own.
constexpr double relay_temperature = 0.7;
constexpr std::uint32_t relay_cap = 8'192;

}  // namespace

std::string relay_request(const prompt& ask, const provider_config& provider) {
  const auto cap = output_cap_of(ask.choice, provider);
  json::value body{{"messages", wire::messages_of(ask)},
                   {"model", ask.choice.model},
                   {"temperature", ask.choice.temperature.value_or(relay_temperature)},
                   {"max_tokens", cap == 0 ? relay_cap : cap},
                   {"top_p", 1.0},
                   {"n", 1}};
  // KernelAgent's extras go to a relay whatever the model: the relay knows which of them its models take.
  if (provider.reasoning_extras || !ask.choice.reasoning_effort.empty()) {
    body["reasoning"] = {{"effort", ask.choice.reasoning_effort.empty() ? "high" : ask.choice.reasoning_effort}};
  }
  if (provider.reasoning_extras) {
    body["text"] = wire::text_extras(ask.choice.model);
  }
  return json::to_text(body);
}

bool read_relay_event(std::string_view data, reply_so_far& reply) {
  if (reply.is_closed || data.empty()) {
    return false;
  }
  if (!wire::take_error(json::parse(data), reply)) {
    wire::fail_malformed(reply, "a stream of events, where a relay sends one JSON list");
  }
  return false;
}

void read_relay_body(std::string_view body, reply_so_far& reply) {
  const auto answer = json::parse(body);
  if (wire::take_error(answer, reply)) {
    return;
  }
  const auto first = answer.is_array() && !answer.empty() ? answer.front() : json::value::object();
  if (!answer.is_array() || (!answer.empty() && !(first.is_object() && first.contains("output")))) {
    return wire::fail_malformed(reply, "the answer is JSON, but not a relay's list of outputs");
  }
  reply.text = json::text(first, "output");
  reply.response_id = json::loose_text(first, "plugboard_request_id");
  reply.has_content = true;
  reply.is_finished = true;
  reply.is_closed = true;
}

}  // namespace regatta
