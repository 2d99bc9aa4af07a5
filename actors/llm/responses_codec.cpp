// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/responses_codec.hpp"

#include "actors/llm/wire_codec.hpp"
#include "actors/llm/wire_request.hpp"

namespace regatta {

namespace {

/// KernelAgent's extras (reasoning effort, text format and verbosity), for models that take them.
void add_extras(json::value& body, const model_choice& choice, const provider_config& provider) {
  const bool has_extras = provider.reasoning_extras && is_reasoning_model(choice.model);
  if (!choice.reasoning_effort.empty() || has_extras) {
    body["reasoning"] = {{"effort", choice.reasoning_effort.empty() ? "high" : choice.reasoning_effort}};
  }
  if (has_extras) {
    body["text"] = wire::text_extras(choice.model);
  }
}

void read_responses_usage(const json::value& usage, token_usage& out) {
  if (!usage.is_object()) {
    return;
  }
  out.input_tokens = json::count(usage, "input_tokens");
  out.output_tokens = json::count(usage, "output_tokens");
  out.cached_tokens = json::count(json::at(usage, "input_tokens_details"), "cached_tokens");
  out.reasoning_tokens = json::count(json::at(usage, "output_tokens_details"), "reasoning_tokens");
}

/// The finished response repeats the whole text; it counts more than the deltas, one of which may be lost.
void read_output(const json::value& output, reply_so_far& reply) {
  std::string text;
  std::string refusal;
  for (const auto& item : output.is_array() ? output : json::value::array()) {
    reply.has_reasoning = reply.has_reasoning || json::text(item, "type") == "reasoning";
    const auto& content = json::at(item, "content");
    for (const auto& part : content.is_array() ? content : json::value::array()) {
      const auto type = json::text(part, "type");
      text += type == "output_text" || type == "text" ? json::text(part, "text") : "";
      refusal += type == "refusal" ? json::text(part, "refusal") : "";
    }
  }
  reply.text = text.empty() ? reply.text : text;
  reply.refusal = refusal.empty() ? reply.refusal : refusal;
}

/// The status inside counts, not the event's name: some servers say `response.completed` of an incomplete one.
void read_response(const json::value& response, std::string_view fallback_status, std::uint32_t output_cap,
                   reply_so_far& reply) {
  read_output(json::at(response, "output"), reply);
  read_responses_usage(json::at(response, "usage"), reply.usage);
  if (wire::take_error(response, reply)) {
    return;
  }
  auto status = json::text(response, "status");
  // `queued` and `in_progress` of a finished response are stale.
  status = status == "incomplete" || status == "failed" || status == "cancelled" ? status : fallback_status;
  if (status == "failed" || status == "cancelled" || fallback_status == "failed") {
    return wire::fail_with(reply, {"", "", "response " + (status == "cancelled" ? status : "failed")});
  }
  const auto reason = json::text(json::at(response, "incomplete_details"), "reason");
  const bool is_over_cap = output_cap != 0 && reply.usage.output_tokens.value_or(0) >= output_cap;
  reply.is_filtered = reason == "content_filter";
  reply.is_cut = !reply.is_filtered && (status == "incomplete" || !reason.empty() || is_over_cap);
  reply.finish_reason = reason.empty() ? std::string{status} : reason;
  reply.is_finished = true;
  reply.is_closed = true;
}

bool read_typed(const std::string& type, const json::value& event, std::uint32_t output_cap, reply_so_far& reply) {
  const auto& response = json::at(event, "response");
  if (auto id = json::text(response, "id"); !id.empty()) {
    reply.response_id = std::move(id);
  }
  if (type == "response.output_text.delta") {
    reply.text += json::text(event, "delta");
  } else if (type == "response.output_text.done" && reply.text.empty()) {
    reply.text = json::text(event, "text");
  } else if (type == "response.refusal.delta") {
    reply.refusal += json::text(event, "delta");
  } else if (type.starts_with("response.reasoning")) {
    reply.has_reasoning = true;
  } else if (type == "response.completed" || type == "response.incomplete" || type == "response.failed") {
    read_response(response, std::string_view{type}.substr(9), output_cap, reply);
  }
  reply.has_content = reply.has_content || type.starts_with("response.");
  return type.starts_with("response.");
}

}  // namespace

std::string responses_request(const prompt& ask, const provider_config& provider) {
  json::value body{{"model", ask.choice.model},
                   {"stream", true},
                   {"store", provider.store_responses},
                   {"input", wire::messages_of(ask)}};
  if (const auto cap = output_cap_of(ask.choice, provider); cap != 0) {
    body["max_output_tokens"] = cap;
  }
  if (ask.choice.temperature && !is_reasoning_model(ask.choice.model)) {
    body["temperature"] = *ask.choice.temperature;
  }
  add_extras(body, ask.choice, provider);
  return json::to_text(body);
}

bool read_responses_event(std::string_view name, std::string_view data, std::uint32_t output_cap, reply_so_far& reply) {
  if (reply.is_closed) {
    return false;
  }
  if (wire::is_done_mark(data)) {
    reply.is_closed = true;
    return true;
  }
  const auto event = wire::object_in(data, reply);
  if (!event) {
    return false;
  }
  auto type = json::text(*event, "type");
  type = type.empty() ? std::string{name} : type;
  if (type == "error" || type == "response.error") {
    // Some have code and message at the top, some in `error`.
    wire::fail_with(reply, json::error_in(*event).value_or(provider_error{"", "", type}));
    return true;
  }
  if (!type.starts_with("response.") && wire::take_error(*event, reply)) {
    return true;
  }
  return read_typed(type, *event, output_cap, reply);
}

void read_responses_body(std::string_view body, std::uint32_t output_cap, reply_so_far& reply) {
  const auto response = json::parse(body);
  if (wire::take_error(response, reply)) {
    return;
  }
  if (!json::at(response, "output").is_array()) {
    return wire::fail_malformed(reply, "the answer is JSON, but not a response");
  }
  reply.has_content = true;
  reply.response_id = json::text(response, "id");
  const auto status = json::text(response, "status");
  read_response(response, status.empty() ? "completed" : status, output_cap, reply);
  if (status == "queued" || status == "in_progress") {
    wire::fail_malformed(reply, "the response is not finished: " + status);
  }
}

}  // namespace regatta
