// SPDX-License-Identifier: Apache-2.0
// No answer that brought nothing is a success, whatever its status, its content type and the pieces it comes in.
#include "tests/actors/llm/answer.hpp"
#include "tests/actors/llm/wire_words.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace regatta;
using namespace regatta::test;
using enum regatta::llm_outcome;

namespace {

struct nothing {
  std::string name;
  std::string bytes;
  llm_outcome outcome = malformed;
};

const std::string done = "data: [DONE]\n\n";

/// On every wire.
std::vector<nothing> common_nothings() {
  using namespace std::string_literals;
  return {
      {"no byte", ""},
      {"line ends", "\r\n\r\n"},
      {"pings", ": ping\n\n: ping\n\n"},
      {"events without data", "event: message_stop\n\nid: 7\n\nretry: 10\n\n"},
      {"empty data", "data:\n\ndata: \n\n"},
      {"the end mark alone", done},
      {"a null event", "data: null\n\n" + done},
      {"an empty event", "data: {}\n\n" + done},
      {"an empty event whose name promises more", "event: response.completed\ndata:\n\n"},
      {"a list as event", "data: []\n\n"},
      {"a number as event", "data: 200\n\n"},
      {"a word as event", "data: OK\n\n"},
      {"half an event", "data: {\"choices\":[{\"delta\":{\"content\":\"x"},
      {"null", "null"},
      {"true", "true"},
      {"a number", "0"},
      {"a JSON string", "\"hello\""},
      {"an empty JSON string", "\"\""},
      {"an empty object", "{}"},
      {"a list of an empty object", "[{}]"},
      {"a list of null", "[null]"},
      {"an object that is no reply", R"({"status":"ok","text":"hello"})"},
      {"an object with a detail", R"({"detail":"Not Found"})"},
      {"an error of null", R"({"error":null})"},
      {"an error without words", R"({"error":{}})", overloaded},
      {"an error of one word", R"({"error":"busy"})", overloaded},
      {"a limit as an error", R"({"error":{"code":"429","message":"slow down"}})", rate_limited},
      {"a bad key as an error", R"({"error":{"type":"authentication_error","message":"no"}})", unauthorized},
      {"a list of an error", R"([{"error":{"code":400,"message":"no"}}])", bad_request},
      {"half an object", R"({"choices":[{"message":{"content":"hel)"},
      {"HTML", "<!DOCTYPE html><html><body>Sign in</body></html>"},
      {"XML", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"},
      {"plain words", "Internal Server Error"},
      {"plain words that begin like an event", "event gateway: error, data lost"},
      {"OK", "OK"},
      {"a byte order mark", "\xEF\xBB\xBF"},
      {"half a character", "\xE2\x82"},
      {"NUL", "\0\0\0"s},
      {"gzip", "\x1F\x8B\x08\x00\x00"s},
  };
}

/// What such a stream says besides a text.
std::string thinking_of(const wire_words& wire) {
  switch (wire.kind) {
    case provider_kind::responses:
      return "data: {\"type\":\"response.reasoning_text.delta\",\"delta\":\"hm\"}\n\n";
    case provider_kind::chat:
      return "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n";
    default:
      return "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":"
             "\"hm\"}}\n\n";
  }
}

std::vector<nothing> blank_streams(const wire_words& wire) {
  const std::string start{wire.start};
  const std::string finish{wire.finish};
  std::vector<nothing> out{
      {"the start alone", start, transport_failed},
      {"start and end mark", start + done, wire.kind == provider_kind::chat ? empty : transport_failed},
      {"start and end", start + finish, empty},
      {"a cut end", start + std::string{wire.finish_cut}, empty},
      {"thinking alone", start + thinking_of(wire) + finish, empty},
      {"empty deltas", start + wire.delta("") + wire.delta("") + finish, empty},
      {"blank deltas", start + wire.delta("  \\n") + wire.delta("\\t\\r\\n") + finish, empty},
      {"spaces of other kinds", start + wire.delta("\\u00a0\\u200b\\u2060\\u3000\\ufeff") + finish, empty},
      {"control characters", start + wire.delta("\\u0000\\u0007\\u001b") + finish, empty},
      {"half a character", start + wire.delta("\xE2\x82") + finish, empty},
      {"half a pair", start + wire.delta("\\ud83d") + finish, empty},
      {"blank and cut", start + wire.delta(" ") + std::string{wire.finish_cut}, empty},
      {"an error after nothing", start + wire.error(R"({"type":"server_error","message":"m"})"), overloaded},
      {"a null error after nothing", start + wire.error("null"),
       wire.kind == provider_kind::chat ? transport_failed : overloaded},
  };
  return out;
}

std::vector<nothing> blank_bodies(const wire_words& wire) {
  return {
      {"an empty text in one body", wire.body(""), empty},
      {"a blank text in one body", wire.body(" \\n\\t"), empty},
      {"an unreadable text in one body", wire.body("\\ufffd\xC3"), empty},
      {"an error in one body", R"({"error":{"type":"server_error","message":"m"}})", overloaded},
  };
}

std::vector<nothing> strange_answers(const wire_words& wire) {
  std::vector<nothing> out;
  for (const auto& other : all_wires) {
    if (other.kind != wire.kind) {
      out.push_back({"a stream of " + std::string{other.name}, other.whole("hello")});
      out.push_back({"a body of " + std::string{other.name}, other.body("hello")});
    }
  }
  return out;
}

std::vector<nothing> own_nothings(const wire_words& wire) {
  switch (wire.kind) {
    case provider_kind::responses:
      return {{"no output", R"({"id":"r","status":"completed","output":[]})", empty},
              {"null for output", R"({"id":"r","status":"completed","output":null})"},
              {"not begun", R"({"id":"r","status":"queued","output":[]})"},
              {"an end without a response", "data: {\"type\":\"response.completed\"}\n\n", empty},
              {"an end of a null response", "data: {\"type\":\"response.completed\",\"response\":null}\n\n", empty},
              {"an empty list", "[]"}};
    case provider_kind::chat:
      return {{"no choices", R"({"id":"c","choices":[]})", empty},
              {"null for choices", R"({"id":"c","choices":null})"},
              {"a null message", R"({"choices":[{"message":null,"finish_reason":"stop"}]})", empty},
              {"a null content", R"({"choices":[{"message":{"content":null},"finish_reason":"stop"}]})", empty},
              {"a number for content", R"({"choices":[{"message":{"content":7},"finish_reason":"stop"}]})", empty},
              {"another choice's text", R"({"choices":[{"index":1,"message":{"content":"x"}}]})", empty},
              {"an empty list", "[]"}};
    case provider_kind::anthropic:
      return {{"no blocks", R"({"type":"message","content":[],"stop_reason":"end_turn"})", empty},
              {"null for content", R"({"type":"message","content":null})"},
              {"thinking alone in one body", R"({"content":[{"type":"thinking","thinking":"hm"}]})", empty},
              {"a delta without a start", std::string{"data: "} +
                   R"({"type":"message_delta","delta":{"type":"content_block_delta","delta":{"text":"x"}},"usage":null})" +
                   "\n\n" + done},
              {"an end without a start", "data: {\"type\":\"message_stop\"}\n\n"},
              {"an empty list", "[]"}};
    default:
      return {{"an empty list", "[]", empty},
              {"a null output", R"([{"output":null}])", empty},
              {"an output that is no text", R"([{"output":{"text":"x"}}])", empty},
              {"an object instead of a list", R"({"output":"x"})"},
              {"a list of strings", R"(["x"])"}};
  }
}

std::vector<nothing> nothings_of(const wire_words& wire) {
  auto out = common_nothings();
  const auto add = [&](const std::vector<nothing>& more) { out.insert(out.end(), more.begin(), more.end()); };
  add(own_nothings(wire));
  add(blank_bodies(wire));
  add(strange_answers(wire));
  if (wire.streams()) {
    add(blank_streams(wire));
  }
  return out;
}

void check(const wire_words& wire, const nothing& x) {
  for (const auto* type : {"text/event-stream", "application/json", "text/plain", "text/html; charset=utf-8", ""}) {
    for (const std::uint32_t status : {200U, 201U, 202U, 204U, 206U}) {
      for (const std::size_t piece : {1U, 100'000U}) {
        answer ask{wire.kind, status, type};
        const auto got = ask.read(x.bytes, piece);
        BOOST_TEST_INFO(wire.name << ", " << x.name << ", " << status << " " << type << ": " << got.error);
        BOOST_TEST(got.outcome == x.outcome);
        BOOST_TEST((!got.error.empty()));
        ask.end = exchange_end::cut;
        const auto cut = ask.read(x.bytes, piece);
        BOOST_TEST_INFO(wire.name << ", " << x.name << ", cut");
        BOOST_TEST((cut.outcome != replied && cut.outcome != truncated));
        BOOST_TEST((!cut.error.empty()));
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(answers_that_bring_nothing)

BOOST_AUTO_TEST_CASE(none_is_a_success_whatever_its_status_and_type) {
  for (const auto& wire : all_wires) {
    for (const auto& x : nothings_of(wire)) {
      check(wire, x);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_words_with_a_text_are_a_success) {
  for (const auto& wire : all_wires) {
    for (const std::size_t piece : {1U, 7U, 100'000U}) {
      const answer ask{wire.kind};
      BOOST_TEST_INFO(wire.name);
      BOOST_TEST(ask.read(wire.whole("hello"), piece).outcome == replied);
      BOOST_TEST(ask.read(wire.body("hello"), piece).outcome == replied);
      BOOST_TEST(ask.read(wire.whole("hello"), piece).text == "hello");
      BOOST_TEST(ask.read(wire.body("hello"), piece).text == "hello");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_text_without_the_wires_end_is_none_either) {
  for (const auto& wire : all_wires) {
    if (wire.streams()) {
      for (const auto how : {exchange_end::complete, exchange_end::cut}) {
        answer ask{wire.kind};
        ask.end = how;
        const auto got = ask.read(std::string{wire.start} + wire.delta("half"));
        BOOST_TEST_INFO(wire.name);
        BOOST_TEST(got.outcome == transport_failed);
        BOOST_TEST(got.text == "half");
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
