// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/anthropic_codec.hpp"
#include "actors/llm/json_codec.hpp"
#include "actors/llm/relay_codec.hpp"
#include "tests/actors/llm/answer.hpp"
#include "tests/actors/llm/wire_words.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace regatta;
using namespace regatta::test;

namespace {

const answer messages{provider_kind::anthropic};
const answer relay{provider_kind::relay, 200, "application/json"};
const auto& words = words_of(provider_kind::anthropic);

std::string event(const std::string& json) {
  return "data: " + json + "\n\n";
}
std::string block_text(int index, const std::string& text) {
  return event(R"({"type":"content_block_delta","index":)" + std::to_string(index) +
               R"(,"delta":{"type":"text_delta","text":")" + text + "\"}}");
}
std::string stopped_by(const std::string& reason) {
  return event(R"({"type":"message_delta","delta":{"stop_reason":")" + reason + "\"}}") +
         event(R"({"type":"message_stop"})");
}
const std::string start{words.start};

}  // namespace

BOOST_AUTO_TEST_SUITE(messages_wire)

BOOST_AUTO_TEST_CASE(a_request_has_system_on_top_and_always_a_cap) {
  provider_config provider;
  provider.max_output_tokens = 100;
  auto ask = ask_of("claude-x");
  auto body = json::parse(anthropic_request(ask, provider));
  BOOST_TEST(body["stream"] == true);
  BOOST_TEST(body["system"] == "sys");
  BOOST_TEST(body["max_tokens"] == 100);
  BOOST_TEST(body["messages"].size() == 1U);
  BOOST_TEST(body["messages"][0]["content"] == "user");
  BOOST_TEST(body.size() == 5U);
  ask.choice.temperature = 1.1;
  ask.choice.seed = 7;
  ask.choice.reasoning_effort = "low";
  ask.system.clear();
  provider.max_output_tokens = 0;
  body = json::parse(anthropic_request(ask, provider));
  BOOST_TEST(body["temperature"] == 1.0, "past 1 the wire refuses the call");
  BOOST_TEST(body["max_tokens"].get<int>() > 0);
  BOOST_TEST(body["output_config"]["effort"] == "low");
  BOOST_TEST(!body.contains("system"));
  BOOST_TEST(!body.contains("seed"));
}

BOOST_AUTO_TEST_CASE(thinking_is_no_text_and_blocks_stand_in_their_order) {
  const std::string stream =
      start + event(R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}})") +
      event(R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})") +
      event(R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}})") +
      event(R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":"a"}})") +
      block_text(1, "b") + block_text(3, "f") + block_text(2, "d") + event(R"({"type":"ping"})") +
      block_text(1, "c") + block_text(2, "e") + event(R"({"type":"some_new_event"})") + block_text(3, "g") +
      stopped_by("end_turn");
  for (const std::size_t piece : {1U, 13U, 100'000U}) {
    const auto got = messages.read(stream, piece);
    BOOST_TEST(got.outcome == llm_outcome::replied);
    BOOST_TEST(got.text == "abcdefg");
    BOOST_TEST(got.response_id == "m1");
    BOOST_TEST(got.finish_reason == "end_turn");
  }
}

BOOST_AUTO_TEST_CASE(input_is_all_that_is_billed_cached_or_not) {
  const auto got = messages.read(
      event(R"({"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":10,)"
            R"("cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":1}}})") +
      block_text(0, "x") +
      event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":42}})") +
      event(R"({"type":"message_stop"})"));
  BOOST_TEST(got.usage.input_tokens.value() == 3210U);
  BOOST_TEST(got.usage.cached_tokens.value() == 3000U);
  BOOST_TEST(got.usage.cache_written_tokens.value() == 200U);
  BOOST_TEST(got.usage.output_tokens.value() == 42U);
  const auto later = messages.read(
      start + block_text(0, "x") +
      event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":18446744073709551615,)"
            R"("cache_read_input_tokens":9,"output_tokens":-1}})") +
      event(R"({"type":"message_stop"})"));
  BOOST_TEST(later.usage.input_tokens.value() == 18446744073709551615U, "no wrap around");
  BOOST_TEST(later.usage.output_tokens.value() == 1U, "the start's, since the end lies");
}

BOOST_AUTO_TEST_CASE(stop_reasons_have_their_outcomes) {
  const auto ended = [](const std::string& reason) {
    return messages.read(start + block_text(0, "x") + stopped_by(reason)).outcome;
  };
  BOOST_TEST(ended("end_turn") == llm_outcome::replied);
  BOOST_TEST(ended("stop_sequence") == llm_outcome::replied);
  BOOST_TEST(ended("max_tokens") == llm_outcome::truncated);
  BOOST_TEST(ended("model_context_window_exceeded") == llm_outcome::truncated);
  BOOST_TEST(ended("pause_turn") == llm_outcome::truncated);
  BOOST_TEST(ended("refusal") == llm_outcome::refused);
  const auto refused = messages.read(
      start + event(R"({"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"why"}}})"));
  BOOST_TEST(refused.outcome == llm_outcome::refused);
  BOOST_TEST(refused.error == "why");
  BOOST_TEST(messages.read(start + block_text(0, "x") + event(R"({"type":"message_stop"})")).outcome ==
             llm_outcome::replied);
}

BOOST_AUTO_TEST_CASE(errors_inside_the_stream_are_named) {
  const auto failed = [](const std::string& error) {
    const auto got = messages.read(start + block_text(0, "half") + words.error(error));
    BOOST_TEST(got.text == "half");
    return got.outcome;
  };
  BOOST_TEST(failed(R"({"type":"overloaded_error","message":"Overloaded"})") == llm_outcome::overloaded);
  BOOST_TEST(failed(R"({"type":"rate_limit_error","message":"m"})") == llm_outcome::rate_limited);
  BOOST_TEST(failed(R"({"type":"api_error","message":"m"})") == llm_outcome::overloaded);
  BOOST_TEST(failed(R"({"type":"authentication_error","message":"m"})") == llm_outcome::unauthorized);
  BOOST_TEST(failed(R"({"type":"billing_error","message":"m"})") == llm_outcome::quota_exhausted);
  BOOST_TEST(failed(R"({"type":"request_too_large","message":"m"})") == llm_outcome::context_too_long);
  BOOST_TEST(failed(R"({"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"})") ==
             llm_outcome::context_too_long);
}

BOOST_AUTO_TEST_CASE(a_server_with_too_many_blocks_is_malformed) {
  std::string stream = start;
  for (int i = 300; i > 0; --i) {
    stream += block_text(i, "x");
  }
  BOOST_TEST(messages.read(stream).outcome == llm_outcome::malformed);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(relay_wire)

BOOST_AUTO_TEST_CASE(a_request_is_kernelagents) {
  provider_config provider;
  auto ask = ask_of("gpt-5");
  auto body = json::parse(relay_request(ask, provider));
  BOOST_TEST(body["messages"].size() == 2U);
  BOOST_TEST(body["model"] == "gpt-5");
  BOOST_TEST(body["temperature"] == 0.7);
  BOOST_TEST(body["max_tokens"] == 32'000);
  BOOST_TEST(body["top_p"] == 1.0);
  BOOST_TEST(body["n"] == 1);
  BOOST_TEST(body["reasoning"]["effort"] == "high");
  BOOST_TEST(body["text"]["format"]["type"] == "text");
  BOOST_TEST(body["text"]["verbosity"] == "high");
  BOOST_TEST(!body.contains("stream"));
  provider.reasoning_extras = false;
  ask.choice.temperature = 0.2;
  body = json::parse(relay_request(ask, provider));
  BOOST_TEST(body["temperature"] == 0.2);
  BOOST_TEST(!body.contains("reasoning"));
  BOOST_TEST(!body.contains("text"));
}

BOOST_AUTO_TEST_CASE(the_first_output_is_the_reply) {
  const auto got = relay.read(R"([{"output":"h\u00fc","plugboard_request_id":17},{"output":"other"}])", 3);
  BOOST_TEST(got.outcome == llm_outcome::replied);
  BOOST_TEST(got.text == "h\xC3\xBC");
  BOOST_TEST(got.response_id == "17");
  BOOST_TEST(!got.usage.output_tokens);
  BOOST_TEST(relay.read(R"([{"output":"half)").outcome == llm_outcome::malformed);
  BOOST_TEST(relay.read(R"([{"error":"model is busy"}])").outcome == llm_outcome::overloaded);
}

BOOST_AUTO_TEST_CASE(a_failed_answers_body_is_its_error) {
  answer failed = relay;
  failed.status = 502;
  BOOST_TEST(failed.read("upstream is gone").error == "502: upstream is gone");
  BOOST_TEST(failed.read("upstream is gone").outcome == llm_outcome::overloaded);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(requests_of_all_wires)

BOOST_AUTO_TEST_CASE(each_goes_to_its_own_address_with_the_key_in_one_header) {
  const auto address = [](provider_kind kind, const std::string& base) {
    provider_config provider;
    provider.kind = kind;
    provider.base_url = base;
    provider.api_key = "sk-secret";
    const auto request = make_request(ask_of("m"), provider);
    int found = 0;
    for (const auto& [name, value] : request.headers) {
      found += value.find("sk-secret") != std::string::npos ? 1 : 0;
      BOOST_TEST((name != "x-api-key" || kind == provider_kind::anthropic));
    }
    BOOST_TEST(found == 1);
    BOOST_TEST(request.body.find("sk-secret") == std::string::npos);
    return request.url;
  };
  BOOST_TEST(address(provider_kind::responses, "http://h/v1/") == "http://h/v1/responses");
  BOOST_TEST(address(provider_kind::chat, "http://h/v1") == "http://h/v1/chat/completions");
  BOOST_TEST(address(provider_kind::anthropic, "http://h/v1/") == "http://h/v1/messages");
  BOOST_TEST(address(provider_kind::anthropic, "http://h") == "http://h/v1/messages", "as its own clients are told");
  BOOST_TEST(address(provider_kind::relay, "http://h:1/ask/") == "http://h:1/ask/");
}

BOOST_AUTO_TEST_CASE(configured_headers_replace_the_wires_own) {
  provider_config provider;
  provider.kind = provider_kind::anthropic;
  provider.base_url = "http://h";
  provider.api_key = "sk-secret";
  const auto values = [&](const std::string& wanted) {
    std::string out;
    for (const auto& [name, value] : make_request(ask_of("m"), provider).headers) {
      out += name == wanted ? value + ";" : "";
    }
    return out;
  };
  BOOST_TEST(values("anthropic-version") == "2023-06-01;");
  BOOST_TEST(values("x-api-key") == "sk-secret;");
  provider.headers = {{"Anthropic-Version", "2027-01-01"}, {"Authorization", "Bearer other"}};
  BOOST_TEST(values("anthropic-version") == "");
  BOOST_TEST(values("x-api-key") == "");
  BOOST_TEST(values("Authorization") == "Bearer other;");
}

BOOST_AUTO_TEST_SUITE_END()
