// SPDX-License-Identifier: Apache-2.0
/// \file
/// What servers say on each HTTP wire, as bytes written out by hand: independent of the codecs and of the imposter's
/// own streams. Texts that are passed in stand in JSON as they are: escape them yourself.
#pragma once

#include "actors/llm/provider_config.hpp"

#include <array>
#include <string>
#include <string_view>

namespace regatta::test {

struct wire_words {
  provider_kind kind = provider_kind::chat;
  std::string_view name;
  std::string_view path;    ///< Behind the base URL.
  std::string_view start;   ///< Before any text.
  std::string_view before;  ///< Around the text of one delta.
  std::string_view after;
  std::string_view finish;        ///< After all text: ended well.
  std::string_view finish_cut;    ///< Ended at the output limit.
  std::string_view error_before;  ///< Around the `error` object of an event inside the stream.
  std::string_view error_after;
  std::string_view body_before;  ///< Around the text of a whole answer in one JSON body.
  std::string_view body_after;

  bool streams() const { return kind != provider_kind::relay; }
  std::string delta(const std::string& text) const { return std::string{before} + text + std::string{after}; }
  std::string body(const std::string& text) const { return std::string{body_before} + text + std::string{body_after}; }
  std::string stream(const std::string& text) const { return std::string{start} + delta(text) + std::string{finish}; }
  /// The wire's ordinary good answer.
  std::string whole(const std::string& text) const { return streams() ? stream(text) : body(text); }
  std::string error(const std::string& object) const {
    return std::string{error_before} + object + std::string{error_after};
  }
};

inline constexpr std::array<wire_words, 4> all_wires{{
    {
        provider_kind::responses,
        "responses",
        "/responses",
        R"(data: {"type":"response.created","response":{"id":"r1","status":"in_progress","output":[]}})"
        "\n\n",
        R"(data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":")",
        "\"}\n\n",
        R"(data: {"type":"response.completed","response":{"id":"r1","status":"completed","output":[],)"
        R"("usage":{"input_tokens":3,"output_tokens":5}}})"
        "\n\n",
        R"(data: {"type":"response.incomplete","response":{"id":"r1","status":"incomplete","output":[],)"
        R"("incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":3,"output_tokens":5}}})"
        "\n\n",
        R"(data: {"type":"response.failed","response":{"id":"r1","status":"failed","error":)",
        "}}\n\n",
        R"({"id":"r1","object":"response","status":"completed","output":[{"type":"message","content":)"
        R"([{"type":"output_text","text":")",
        R"("}]}],"usage":{"input_tokens":3,"output_tokens":5}})",
    },
    {
        provider_kind::chat,
        "chat",
        "/chat/completions",
        R"(data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]})"
        "\n\n",
        R"(data: {"id":"c1","choices":[{"index":0,"delta":{"content":")",
        R"("},"finish_reason":null}]})"
        "\n\n",
        R"(data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
        "\n\n"
        R"(data: {"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}})"
        "\n\ndata: [DONE]\n\n",
        R"(data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"length"}]})"
        "\n\ndata: [DONE]\n\n",
        R"(data: {"error":)",
        "}\n\n",
        R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":")",
        R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":5}})",
    },
    {
        provider_kind::anthropic,
        "anthropic",
        "/messages",
        "event: message_start\n"
        R"(data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],)"
        R"("stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}})"
        "\n\nevent: content_block_start\n"
        R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"
        "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n",
        "event: content_block_delta\n"
        R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")",
        "\"}}\n\n",
        "event: content_block_stop\n"
        R"(data: {"type":"content_block_stop","index":0})"
        "\n\nevent: message_delta\n"
        R"(data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}})"
        "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        "event: message_delta\n"
        R"(data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":5}})"
        "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        "event: error\ndata: {\"type\":\"error\",\"error\":",
        "}\n\n",
        R"({"id":"m1","type":"message","role":"assistant","content":[{"type":"text","text":")",
        R"("}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":5}})",
    },
    {
        provider_kind::relay,
        "relay",
        "",
        "",
        "",
        "",
        "",
        "",
        R"([{"error":)",
        "}]",
        R"([{"output":")",
        R"(","plugboard_request_id":"p1"}])",
    },
}};

inline const wire_words& words_of(provider_kind kind) {
  for (const auto& wire : all_wires) {
    if (wire.kind == kind) {
      return wire;
    }
  }
  return all_wires.front();
}

}  // namespace regatta::test
