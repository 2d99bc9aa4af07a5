// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/chat_codec.hpp"

#include "actors/llm/wire_codec.hpp"
#include "actors/llm/wire_request.hpp"

namespace regatta {

namespace {

/// Usage may come on every chunk, growing: the last one counts.
void read_chat_usage(const json::value& usage, token_usage& out) {
  if (!usage.is_object()) {
    return;
  }
  out.input_tokens = json::count(usage, "prompt_tokens");
  out.output_tokens = json::count(usage, "completion_tokens");
  out.cached_tokens = json::count(json::at(usage, "prompt_tokens_details"), "cached_tokens");
  out.reasoning_tokens = json::count(json::at(usage, "completion_tokens_details"), "reasoning_tokens");
}

/// A string, or parts of which some have text.
std::string content_in(const json::value& message) {
  const auto& content = json::at(message, "content");
  if (!content.is_array()) {
    return json::text(message, "content");
  }
  std::string out;
  for (const auto& part : content) {
    out += json::text(part, "text");
  }
  return out;
}

void read_choice(const json::value& choice, reply_so_far& reply) {
  const auto& delta = json::at(choice, "delta");
  const auto& message = delta.is_object() ? delta : json::at(choice, "message");
  reply.text += content_in(message);
  reply.refusal += json::text(message, "refusal");
  for (const auto* key : {"reasoning_content", "reasoning"}) {
    const auto& reasoning = json::at(message, key);
    reply.has_reasoning = reply.has_reasoning || (reasoning.is_string() && !json::text(message, key).empty());
  }
  const auto finish = json::text(choice, "finish_reason");
  if (finish.empty()) {
    return;
  }
  reply.finish_reason = finish;
  reply.is_finished = true;
  reply.is_cut = finish == "length" || finish == "max_tokens";
  reply.is_filtered = finish == "content_filter";
  if (finish == "error") {
    wire::fail_with(reply, {"", "", "finish_reason: error"});
  }
}

/// Only the first choice: one is asked for, and a server that sends two sends them mixed.
void read_choices(const json::value& chunk, reply_so_far& reply) {
  const auto& choices = json::at(chunk, "choices");
  if (!choices.is_array()) {
    return;
  }
  reply.has_content = true;
  for (const auto& choice : choices) {
    if (json::count(choice, "index").value_or(0) == 0) {
      read_choice(choice, reply);
    }
  }
}

void read_chunk(const json::value& chunk, reply_so_far& reply) {
  if (reply.response_id.empty()) {
    reply.response_id = json::text(chunk, "id");
  }
  read_chat_usage(json::at(chunk, "usage"), reply.usage);
  read_choices(chunk, reply);
}

/// KernelAgent's: always for gpt-5, for o1 and o3, never for o4-mini.
std::string chat_effort(const model_choice& choice, const provider_config& provider) {
  const std::string_view model = choice.model;
  const bool takes_it = model.starts_with("gpt-5") || model.starts_with("o1") || model.starts_with("o3");
  return choice.reasoning_effort.empty() && provider.reasoning_extras && takes_it ? "high" : choice.reasoning_effort;
}

}  // namespace

std::string chat_request(const prompt& ask, const provider_config& provider) {
  json::value body{{"model", ask.choice.model},
                   {"stream", true},
                   {"stream_options", {{"include_usage", true}}},
                   {"messages", wire::messages_of(ask)}};
  const bool is_reasoning = is_reasoning_model(ask.choice.model);
  if (const auto cap = output_cap_of(ask.choice, provider); cap != 0) {
    body[is_reasoning ? "max_completion_tokens" : "max_tokens"] = cap;
  }
  if (ask.choice.temperature && !is_reasoning) {
    body["temperature"] = *ask.choice.temperature;
  }
  if (ask.choice.seed) {
    body["seed"] = *ask.choice.seed;
  }
  if (const auto effort = chat_effort(ask.choice, provider); !effort.empty()) {
    body["reasoning_effort"] = effort;
  }
  return json::to_text(body);
}

bool read_chat_event(std::string_view data, reply_so_far& reply) {
  if (reply.is_closed) {
    return false;
  }
  if (wire::is_done_mark(data)) {
    reply.is_finished = true;
    reply.is_closed = true;
    return true;
  }
  const auto chunk = wire::object_in(data, reply);
  if (!chunk) {
    return false;
  }
  if (wire::take_error(*chunk, reply)) {
    return true;
  }
  read_chunk(*chunk, reply);
  return json::at(*chunk, "choices").is_array();
}

void read_chat_body(std::string_view body, reply_so_far& reply) {
  const auto answer = json::parse(body);
  if (wire::take_error(answer, reply)) {
    return;
  }
  if (!json::at(answer, "choices").is_array()) {
    return wire::fail_malformed(reply, "the answer is JSON, but not a chat completion");
  }
  read_chunk(answer, reply);
  reply.is_finished = true;
  reply.is_closed = true;
}

}  // namespace regatta
