// SPDX-License-Identifier: Apache-2.0
// An LLM server's answer: head lines, events, bodies, errors. How the bytes are cut must not matter.
#include "actors/llm/chat_codec.hpp"
#include "actors/llm/error_body_codec.hpp"
#include "actors/llm/head_reader.hpp"
#include "actors/llm/http_reply.hpp"
#include "actors/llm/responses_codec.hpp"
#include "actors/llm/sse_parser.hpp"
#include "actors/llm/utf8_text.hpp"
#include "messages/limits.hpp"
#include "tests/fuzz/demands.hpp"

#include <string>
#include <vector>

using namespace regatta;
using fuzz::demand;

namespace {

struct parsed {
  std::vector<sse_event> events;
  bool is_overflown = false;
  bool operator==(const parsed&) const = default;
};

parsed parse(std::string_view bytes, std::size_t piece, std::size_t limit) {
  parsed out;
  sse_parser parser{limit};
  fuzz::in_pieces(bytes, piece, [&](std::string_view x) {
    for (auto& event : parser.feed(x)) {
      out.events.push_back(std::move(event));
    }
  });
  for (auto& event : parser.finish()) {
    out.events.push_back(std::move(event));
  }
  out.is_overflown = parser.is_overflown();
  return out;
}

void check_events(std::string_view bytes) {
  for (const std::size_t limit : {std::size_t{64}, sse_parser::max_event_bytes}) {
    const auto whole = parse(bytes, 0, limit);
    for (const std::size_t piece : {1U, 2U, 7U}) {
      demand(parse(bytes, piece, limit) == whole, "events do not depend on how the bytes are cut");
    }
    std::size_t total = 0;
    for (const auto& x : whole.events) {
      demand(x.data.size() <= limit, "an event is not larger than the limit");
      demand(x.data.find('\r') == std::string::npos, "data has no CR");
      demand(x.name.find_first_of("\r\n") == std::string::npos, "a name is one line");
      total += x.data.size() + x.name.size();
    }
    demand(total <= bytes.size(), "no more comes out than went in");
  }
}

try_result answer(std::string_view bytes, provider_kind wire, std::uint32_t status, std::size_t piece,
                  exchange_end how) {
  http_reply reply{wire, 100};
  reply.on_head({1, status, {{"content-type", "text/event-stream"}}});
  fuzz::in_pieces(bytes, piece, [&](std::string_view x) { reply.on_body(x); });
  return reply.on_end({1, how, "it ended"});
}

bool same(const try_result& a, const try_result& b) {
  return a.outcome == b.outcome && a.text == b.text && a.finish_reason == b.finish_reason &&
         a.response_id == b.response_id && a.usage.input_tokens == b.usage.input_tokens &&
         a.usage.output_tokens == b.usage.output_tokens && a.error == b.error && a.is_permanent == b.is_permanent;
}

void check_answer(std::string_view bytes, provider_kind wire, std::uint32_t status, exchange_end how) {
  const auto whole = answer(bytes, wire, status, 0, how);
  for (const std::size_t piece : {1U, 5U}) {
    demand(same(answer(bytes, wire, status, piece, how), whole), "an answer does not depend on how the bytes are cut");
  }
  demand(fuzz::is_utf8(whole.text), "a reply is UTF-8");
  demand(fuzz::is_utf8(whole.finish_reason) && fuzz::is_utf8(whole.response_id), "ids and reasons are UTF-8");
  demand(whole.text.size() <= reply_bytes, "a reply is not larger than its limit");
  demand(status < 300 || !has_text(whole.outcome), "an error status never gives a reply");
}

void check_head(std::string_view bytes) {
  head_reader reader;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    reader.take(bytes.substr(0, end == std::string_view::npos ? end : end + 1));
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
  for (const auto& [name, value] : reader.take_headers()) {
    demand(name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ\n:") == std::string::npos, "a header's name is lower case");
    demand(value.find('\n') == std::string::npos, "a header's value is one line");
  }
}

void check_error(std::string_view bytes) {
  const auto error = read_error_body(bytes);
  for (const std::uint32_t status : {0U, 200U, 400U, 429U, 500U}) {
    demand(!has_text(classify(status, error)), "an error is no reply");
    const auto shown = presentable(describe(status, error), "sk-secret");
    demand(fuzz::each_character(shown, [](char32_t x) { demand(x >= 0x20 && x != 0x7F, "no control characters"); }),
           "an error's text is UTF-8");
    demand(shown.find("sk-secret") == std::string::npos, "a key is never shown");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::text_of(data, size);
  check_events(bytes);
  for (const auto wire :
       {provider_kind::chat, provider_kind::responses, provider_kind::anthropic, provider_kind::relay}) {
    check_answer(bytes, wire, 200, exchange_end::complete);
    check_answer(bytes, wire, 200, exchange_end::cut);
    check_answer(bytes, wire, 429, exchange_end::complete);
  }
  reply_so_far chat;
  read_chat_body(bytes, chat);
  reply_so_far responses;
  read_responses_body(bytes, 100, responses);
  demand(fuzz::is_utf8(chat.text) && fuzz::is_utf8(responses.text), "a whole body's reply is UTF-8");
  check_head(bytes);
  check_error(bytes);
  return 0;
}
