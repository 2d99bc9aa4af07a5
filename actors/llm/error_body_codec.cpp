// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/error_body_codec.hpp"

#include "actors/llm/json_codec.hpp"
#include "actors/llm/sse_parser.hpp"

namespace regatta {

namespace {

std::optional<provider_error> error_in_events(std::string_view body) {
  sse_parser parser;
  auto events = parser.feed(body);
  const auto last = parser.finish();
  events.insert(events.end(), last.begin(), last.end());
  for (const auto& event : events) {
    if (auto found = json::error_in(json::parse(event.data))) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace

provider_error read_error_body(std::string_view body) {
  if (const auto found = json::error_in(json::parse(body))) {
    return *found;
  }
  // Some servers answer a stream request with status 500 and the error as an event.
  if (const auto found = error_in_events(body)) {
    return *found;
  }
  return {"", "", std::string{body.empty() ? "no body" : body.substr(0, 500)}};
}

}  // namespace regatta
