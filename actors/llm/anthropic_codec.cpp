// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/anthropic_codec.hpp"

#include "actors/llm/wire_codec.hpp"
#include "actors/llm/wire_request.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>

namespace regatta {

namespace {

/// Where neither the worker nor the provider's table names a cap. Judgement: the default of provider_config.
constexpr std::uint32_t fallback_cap = 32'000;
/// Past it the wire refuses the call.
constexpr double largest_temperature = 1.0;
/// More than any message without tools has: thinking and text. Judgement; it bounds our work for a mad server.
constexpr std::size_t block_limit = 256;

/// Text of the block with this index, behind those with smaller ones. Servers send block after block, so that this is
/// the end of the text.
void add_block_text(std::uint64_t index, const std::string& text, reply_so_far& reply) {
  auto& ends = reply.block_ends;
  const auto next = ends.upper_bound(index);
  const auto at = next == ends.begin() ? 0 : std::prev(next)->second;
  if (!ends.contains(index) && ends.size() >= block_limit) {
    return wire::fail_malformed(reply, "more than " + std::to_string(block_limit) + " content blocks");
  }
  reply.text.insert(at, text);
  ends[index] = at + text.size();
  for (auto it = ends.upper_bound(index); it != ends.end(); ++it) {
    it->second += text.size();
  }
}

/// A block as it starts, or a whole one.
void read_block(std::uint64_t index, const json::value& block, reply_so_far& reply) {
  const auto type = json::text(block, "type");
  if (type == "text") {
    add_block_text(index, json::text(block, "text"), reply);
  } else if (type == "thinking" || type == "redacted_thinking") {
    reply.has_reasoning = true;
  }
}

void read_blocks(const json::value& content, reply_so_far& reply) {
  for (std::size_t i = 0; content.is_array() && i < content.size() && !reply.failure; ++i) {
    read_block(i, content[i], reply);
  }
}

std::uint64_t saturating_sum(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t sum = 0;
  for (const auto part : parts) {
    sum += std::min(part, std::numeric_limits<std::uint64_t>::max() - sum);
  }
  return sum;
}

/// It comes twice, at the start and at the end; what the second says counts, what it leaves out stays. The wire counts
/// cached input apart; we count it as part of the input, as the other wires do.
void read_message_usage(const json::value& usage, reply_so_far& reply) {
  const auto take = [&](const char* key, std::optional<std::uint64_t>& out) {
    if (const auto count = json::count(usage, key)) {
      out = count;
    }
  };
  take("input_tokens", reply.fresh_input_tokens);
  take("cache_creation_input_tokens", reply.usage.cache_written_tokens);
  take("cache_read_input_tokens", reply.usage.cached_tokens);
  take("output_tokens", reply.usage.output_tokens);
  if (reply.fresh_input_tokens) {
    reply.usage.input_tokens =
        saturating_sum({*reply.fresh_input_tokens, reply.usage.cache_written_tokens.value_or(0),
                        reply.usage.cached_tokens.value_or(0)});
  }
}

void read_stop(const json::value& holder, reply_so_far& reply) {
  const auto reason = json::text(holder, "stop_reason");
  if (reason.empty()) {
    return;
  }
  reply.finish_reason = reason;
  reply.is_finished = true;
  // pause_turn: the server would go on if asked to, so the text is not whole.
  reply.is_cut = reason == "max_tokens" || reason == "model_context_window_exceeded" || reason == "pause_turn";
  reply.is_filtered = reason == "refusal";
  if (reply.is_filtered) {
    reply.refusal += json::text(json::at(holder, "stop_details"), "explanation");
  }
}

void read_message(const json::value& message, reply_so_far& reply) {
  reply.has_content = true;
  reply.response_id = json::text(message, "id");
  read_blocks(json::at(message, "content"), reply);
  read_message_usage(json::at(message, "usage"), reply);
  read_stop(message, reply);
}

void read_block_delta(const json::value& event, reply_so_far& reply) {
  const auto& delta = json::at(event, "delta");
  const auto type = json::text(delta, "type");
  if (type == "text_delta") {
    add_block_text(json::count(event, "index").value_or(0), json::text(delta, "text"), reply);
  } else if (type == "thinking_delta" || type == "signature_delta") {
    reply.has_reasoning = true;
  }
}

/// Everything but message_start; unknown types are skipped, as the public format wants it.
void read_message_event(const std::string& type, const json::value& event, reply_so_far& reply) {
  if (type == "content_block_start") {
    read_block(json::count(event, "index").value_or(0), json::at(event, "content_block"), reply);
  } else if (type == "content_block_delta") {
    read_block_delta(event, reply);
  } else if (type == "message_delta") {
    read_message_usage(json::at(event, "usage"), reply);
    read_stop(json::at(event, "delta"), reply);
  } else if (type == "message_stop") {
    reply.is_finished = true;
    reply.is_closed = true;
  }
}

}  // namespace

std::string anthropic_request(const prompt& ask, const provider_config& provider) {
  const auto cap = output_cap_of(ask.choice, provider);
  json::value body{{"model", ask.choice.model},
                   {"stream", true},
                   {"max_tokens", cap == 0 ? fallback_cap : cap},
                   {"messages", json::value::array({{{"role", "user"}, {"content", ask.user}}})}};
  if (!ask.system.empty()) {
    body["system"] = ask.system;
  }
  if (ask.choice.temperature) {
    body["temperature"] = std::min(*ask.choice.temperature, largest_temperature);
  }
  if (!ask.choice.reasoning_effort.empty()) {
    body["output_config"] = {{"effort", ask.choice.reasoning_effort}};
  }
  return json::to_text(body);
}

bool read_anthropic_event(std::string_view name, std::string_view data, reply_so_far& reply) {
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
  if (type == "error") {
    wire::fail_with(reply, json::error_in(*event).value_or(provider_error{"", "", type}));
    return true;
  }
  const bool is_of_message = type.starts_with("message_") || type.starts_with("content_block_");
  if (!is_of_message && wire::take_error(*event, reply)) {
    return true;
  }
  if (type == "message_start") {
    read_message(json::at(*event, "message"), reply);
  } else if (is_of_message && !reply.has_content) {
    wire::fail_malformed(reply, type + " before message_start");
  } else {
    read_message_event(type, *event, reply);
  }
  return is_of_message;
}

void read_anthropic_body(std::string_view body, reply_so_far& reply) {
  const auto message = json::parse(body);
  if (wire::take_error(message, reply)) {
    return;
  }
  if (!json::at(message, "content").is_array()) {
    return wire::fail_malformed(reply, "the answer is JSON, but not a message");
  }
  read_message(message, reply);
  reply.is_finished = true;
  reply.is_closed = true;
}

}  // namespace regatta
