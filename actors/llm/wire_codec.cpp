// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/wire_codec.hpp"

#include <utility>

namespace regatta::wire {

json::value messages_of(const prompt& ask) {
  auto out = json::value::array();
  if (!ask.system.empty()) {
    out.push_back({{"role", "system"}, {"content", ask.system}});
  }
  out.push_back({{"role", "user"}, {"content", ask.user}});
  return out;
}

json::value text_extras(std::string_view model) {
  json::value out{{"format", {{"type", "text"}}}};
  if (model.starts_with("gpt-5")) {
    out["verbosity"] = "high";
  } else if (model.starts_with("o4-mini")) {
    out["verbosity"] = "medium";
  }
  return out;
}

bool is_done_mark(std::string_view data) {
  return data == "[DONE]";
}

std::optional<json::value> object_in(std::string_view data, reply_so_far& reply) {
  if (data.empty()) {
    return std::nullopt;
  }
  auto event = json::parse(data);
  if (event.is_object()) {
    return event;
  }
  fail_malformed(reply, "an event's data is not a JSON object");
  return std::nullopt;
}

void fail_with(reply_so_far& reply, const provider_error& error) {
  // 200: it came inside a good answer.
  reply.failure = classify(200, error);
  reply.error = describe(0, error);
  if (reply.error.empty()) {
    reply.error = "an error without a word about it";
  }
  reply.is_closed = true;
}

bool take_error(const json::value& holder, reply_so_far& reply) {
  const auto& inner = holder.is_array() && !holder.empty() ? holder.front() : holder;
  if (json::at(inner, "error").is_null()) {
    return false;
  }
  fail_with(reply, json::error_in(inner).value_or(provider_error{}));
  return true;
}

void fail_malformed(reply_so_far& reply, std::string why) {
  reply.failure = llm_outcome::malformed;
  reply.error = std::move(why);
  reply.is_closed = true;
}

}  // namespace regatta::wire
