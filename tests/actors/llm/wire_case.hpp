// SPDX-License-Identifier: Apache-2.0
/// \file
/// One conversation for wire_house.hpp: what the imposter does, and what must come of it.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "messages/llm.hpp"
#include "tests/actors/llm/wire_words.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace regatta::test {

/// What the imposter does.
using step_list = std::vector<nlohmann::json>;

struct wire_case {
  std::string name;
  provider_kind kind = provider_kind::chat;
  /// The imposter's, without paths. Each answers once, the last one always.
  step_list rules;
  llm_outcome outcome = llm_outcome::replied;
  std::uint32_t calls = 1;  ///< As the server counts them.
  std::string text = "fine";
  std::chrono::milliseconds at_least{};  ///< How long the whole call takes, waits included.
  std::function<void(provider_config&)> tune{};
  std::function<void(const prompt_ended&)> check{};
};

// What the imposter does: steps, and answers made of them.
inline nlohmann::json step(const char* what, nlohmann::json value) {
  auto out = nlohmann::json::object();
  out[what] = std::move(value);
  return out;
}
inline nlohmann::json says(const std::string& text) {
  return step("text", text);
}
inline nlohmann::json drips(const std::string& text, int ms) {
  auto out = says(text);
  out["drip_ms"] = ms;
  return out;
}
inline nlohmann::json cuts(const std::string& text, const std::vector<std::size_t>& ends) {
  auto out = says(text);
  out["cut"] = ends;
  return out;
}
inline nlohmann::json repeats(const std::string& text, int count) {
  auto out = says(text);
  out["repeat"] = count;
  return out;
}
inline nlohmann::json pauses(int ms) {
  return step("pause_ms", ms);
}
inline nlohmann::json stalls() {
  return step("stall", true);
}
inline nlohmann::json resets() {
  return step("reset", true);
}
inline nlohmann::json closes() {
  return step("close", true);
}
inline nlohmann::json answers(const step_list& steps, const std::string& type = "text/event-stream") {
  auto out = step("headers", step("content-type", type));
  out["steps"] = steps;
  return out;
}
inline nlohmann::json before_head(const nlohmann::json& what, nlohmann::json answer = nlohmann::json::object()) {
  answer["before"] = step_list{what};
  return answer;
}
/// `headers` by name; the content type is JSON unless it is among them.
inline nlohmann::json refusal(int status, const std::string& body,
                              const std::map<std::string, std::string>& headers = {}) {
  auto out = answers({says(body)}, "application/json");
  for (const auto& [name, value] : headers) {
    out["headers"][name] = value;
  }
  out["status"] = status;
  out["framing"] = "length";
  return out;
}
inline nlohmann::json good_answer(const wire_words& wire, const std::string& text = "fine") {
  return answers({says(wire.whole(text))}, wire.streams() ? "text/event-stream" : "application/json");
}

}  // namespace regatta::test
