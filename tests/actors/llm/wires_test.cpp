// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/chat_codec.hpp"
#include "actors/llm/json_codec.hpp"
#include "actors/llm/responses_codec.hpp"
#include "messages/limits.hpp"
#include "tests/actors/llm/answer.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace regatta;
using namespace regatta::test;

namespace {

std::string delta(const std::string& text) {
  return R"(data: {"choices":[{"index":0,"delta":{"content":")" + text + "\"}}]}\n\n";
}
std::string finish(const std::string& word) {
  return R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":")" + word + "\"}]}\n\n";
}
const std::string done = "data: [DONE]\n\n";

std::string said(const std::string& text) {
  return R"(data: {"type":"response.output_text.delta","delta":")" + text + "\"}\n\n";
}
std::string completed(const std::string& inside) {
  return R"(data: {"type":"response.completed","response":{"id":"r1",)" + inside + "}}\n\n";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chat_wire)

BOOST_AUTO_TEST_CASE(a_request_says_only_what_is_set) {
  provider_config provider;
  provider.max_output_tokens = 100;
  auto ask = ask_of("local-model");
  auto body = json::parse(chat_request(ask, provider));
  BOOST_TEST(body["stream"] == true);
  BOOST_TEST(body["stream_options"]["include_usage"] == true);
  BOOST_TEST(body["max_tokens"] == 100);
  BOOST_TEST(body["messages"][0]["role"] == "system");
  BOOST_TEST(body["messages"][1]["content"] == "user");
  BOOST_TEST(!body.contains("temperature"));
  BOOST_TEST(!body.contains("seed"));
  ask.choice.temperature = 0.5;
  ask.choice.seed = 7;
  ask.choice.max_output_tokens = 9;
  ask.system.clear();
  body = json::parse(chat_request(ask, provider));
  BOOST_TEST(body["temperature"] == 0.5);
  BOOST_TEST(body["seed"] == 7);
  BOOST_TEST(body["max_tokens"] == 9);
  BOOST_TEST(body["messages"].size() == 1U);
}

BOOST_AUTO_TEST_CASE(reasoning_models_get_their_own_limit_and_no_temperature) {
  for (const auto* model : {"gpt-5", "gpt-5.2-mini", "o3", "o4-mini"}) {
    auto ask = ask_of(model);
    ask.choice.temperature = 0.5;
    const auto body = json::parse(chat_request(ask, {}));
    BOOST_TEST(body.contains("max_completion_tokens"), model);
    BOOST_TEST(!body.contains("max_tokens"), model);
    BOOST_TEST(!body.contains("temperature"), model);
  }
  BOOST_TEST(json::parse(chat_request(ask_of("olmo"), {})).contains("max_tokens"));
}

BOOST_AUTO_TEST_CASE(a_prompt_that_is_not_utf8_still_becomes_json) {
  auto ask = ask_of("m");
  ask.user = "a\xFFz";
  BOOST_TEST(json::parse(chat_request(ask, {}))["messages"][1]["content"] == "a\xEF\xBF\xBDz");
}

BOOST_AUTO_TEST_CASE(text_usage_and_finish_are_read_however_the_bytes_are_split) {
  const std::string stream =
      ": hi\r\n\r\ndata: "
      "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\r\n\r\n" +
      delta("gr\xC3\xBC\xC3\x9F") + delta("e \\ud83d\\ude42") + "event: strange\ndata: {\"object\":\"unknown\"}\n\n" +
      finish("stop") +
      "data: {\"id\":\"other\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5,"
      "\"completion_tokens_details\":{\"reasoning_tokens\":2},\"prompt_tokens_details\":{\"cached_tokens\":1}}}\n\n" +
      done;
  for (std::size_t piece = 1; piece < 40; ++piece) {
    const auto got = chat.read(stream, piece);
    BOOST_TEST(got.outcome == llm_outcome::replied);
    BOOST_TEST(got.text ==
               "gr\xC3\xBC\xC3\x9F"
               "e \xF0\x9F\x99\x82");
    BOOST_TEST(got.finish_reason == "stop");
    BOOST_TEST(got.response_id == "c1");
    BOOST_TEST(got.usage.input_tokens.value() == 3U);
    BOOST_TEST(got.usage.output_tokens.value() == 5U);
    BOOST_TEST(got.usage.reasoning_tokens.value() == 2U);
    BOOST_TEST(got.usage.cached_tokens.value() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(usage_after_the_finish_and_growing_usage_count_once) {
  const auto grow = [](int n) {
    return R"(data: {"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"completion_tokens":)" +
           std::to_string(n) + "}}\n\n";
  };
  const auto got = chat.read(grow(1) + grow(2) + finish("stop") +
                             R"(data: {"choices":[{"index":0,"delta":{}}],"usage":{"completion_tokens":3}})"
                             "\n\n");
  BOOST_TEST(got.outcome == llm_outcome::replied);
  BOOST_TEST(got.usage.output_tokens.value() == 3U);
}

BOOST_AUTO_TEST_CASE(a_stream_may_end_after_its_finish_but_not_before) {
  BOOST_TEST(chat.read(delta("x") + finish("stop")).outcome == llm_outcome::replied, "no [DONE]");
  BOOST_TEST(chat.read(delta("x")).outcome == llm_outcome::transport_failed);
  BOOST_TEST(chat.read(delta("x") + done).outcome == llm_outcome::replied, "[DONE] is an end");
  BOOST_TEST(chat.read("").outcome == llm_outcome::malformed);
  BOOST_TEST(chat.read(done).outcome == llm_outcome::malformed, "[DONE] alone is no reply");
  answer cut = chat;
  cut.end = exchange_end::cut;
  BOOST_TEST(cut.read(delta("x")).outcome == llm_outcome::transport_failed);
  BOOST_TEST(cut.read(delta("x") + finish("stop")).outcome == llm_outcome::replied, "only the closing was rough");
}

// Kind H116, too: all of it was reasoning, and no text came.
BOOST_AUTO_TEST_CASE(finish_reasons_have_their_outcomes) {
  BOOST_TEST(chat.read(delta("x") + finish("length")).outcome == llm_outcome::truncated);
  BOOST_TEST(chat.read(delta("") + delta("") + finish("length")).outcome == llm_outcome::empty, "paid for nothing");
  BOOST_TEST(chat.read(delta("x") + finish("content_filter")).outcome == llm_outcome::refused);
  const auto refusal = chat.read(R"(data: {"choices":[{"delta":{"refusal":"I will not"}}]})"
                                 "\n\n" +
                                 finish("stop"));
  BOOST_TEST(refusal.outcome == llm_outcome::refused);
  BOOST_TEST(refusal.error == "I will not");
  const auto thought = chat.read(R"(data: {"choices":[{"delta":{"reasoning_content":"hm"}}]})"
                                 "\n\n" +
                                 finish("length"));
  BOOST_TEST(thought.outcome == llm_outcome::empty);
  BOOST_TEST(thought.error.find("max_output_tokens") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_error_inside_a_good_stream_is_named_by_what_it_says) {
  const auto failed = [](const std::string& error) {
    return chat.read(delta("x") + "data: {\"error\":" + error + "}\n\n" + done).outcome;
  };
  BOOST_TEST(failed(R"({"code":"429","message":"slow"})") == llm_outcome::rate_limited);
  BOOST_TEST(failed(R"({"code":400,"type":"BadRequestError"})") == llm_outcome::bad_request);
  BOOST_TEST(failed(R"({"type":"server_error"})") == llm_outcome::overloaded);
  BOOST_TEST(failed(R"("boom")") == llm_outcome::overloaded);
  BOOST_TEST(failed(R"({"message":"This model's maximum context length is 10 tokens","code":400})") ==
             llm_outcome::context_too_long);
  const auto got = chat.read(delta("half") + R"(data: {"error":{"code":500,"message":"m"}})"
                                             "\n\n");
  BOOST_TEST(got.text == "half");
  BOOST_TEST(got.error == "500: m");
}

BOOST_AUTO_TEST_CASE(words_of_the_reply_are_never_taken_for_an_error) {
  const auto got = chat.read(delta("rate limit exceeded, 429, context_length_exceeded") + finish("stop"));
  BOOST_TEST(got.outcome == llm_outcome::replied);
}

BOOST_AUTO_TEST_CASE(only_the_first_choice_counts) {
  const auto got =
      chat.read(R"(data: {"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"B"}}]})"
                "\n\n"
                R"(data: {"choices":[{"index":1,"delta":{"content":"B"},"finish_reason":"stop"}]})"
                "\n\n" +
                finish("stop"));
  BOOST_TEST(got.text == "a");
}

BOOST_AUTO_TEST_CASE(a_whole_json_answer_to_a_stream_request_is_taken) {
  answer whole = chat;
  whole.type = "application/json";
  const auto got = whole.read(R"({"id":"c","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],
      "usage":{"prompt_tokens":1,"completion_tokens":2}})",
                              5);
  BOOST_TEST(got.outcome == llm_outcome::replied);
  BOOST_TEST(got.text == "hi");
  BOOST_TEST(got.usage.output_tokens.value() == 2U);
  BOOST_TEST(whole.read(R"({"error":{"code":"429"}})").outcome == llm_outcome::rate_limited);
  BOOST_TEST(whole.read(R"({"hello":1})").outcome == llm_outcome::malformed);
  BOOST_TEST(whole.read(R"({"choices":[{"mess)").outcome == llm_outcome::malformed);
}

BOOST_AUTO_TEST_CASE(events_count_whatever_the_content_type_says_and_html_never) {
  answer odd = chat;
  odd.type = "text/plain";
  BOOST_TEST(odd.read(delta("x") + finish("stop")).outcome == llm_outcome::replied);
  odd.type = "text/html";
  const auto html = odd.read("<html><body>Sign in</body></html>");
  BOOST_TEST(html.outcome == llm_outcome::malformed);
  BOOST_TEST(html.error.find("text/html") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(another_wires_stream_is_malformed_not_empty) {
  BOOST_TEST(
      chat.read("data: {\"type\":\"message_delta\",\"delta\":{\"text\":{\"text\":\"x\"}},\"usage\":null}\n\n" + done)
          .outcome == llm_outcome::malformed);
  BOOST_TEST(chat.read("data: not json\n\n").outcome == llm_outcome::malformed);
  BOOST_TEST(chat.read("data: [1]\n\n").outcome == llm_outcome::malformed);
}

BOOST_AUTO_TEST_CASE(halves_of_a_surrogate_pair_and_bad_bytes_are_replaced) {
  const std::string r = "\xEF\xBF\xBD";
  const auto got = chat.read(delta("\\ud83d") + delta("\\ude42\xFFz") + finish("stop"));
  BOOST_TEST(got.text == r + r + r + "z");
}

BOOST_AUTO_TEST_CASE(a_giant_reply_is_cut_and_malformed) {
  std::string stream;
  for (int i = 0; i < 5; ++i) {
    stream += delta(std::string(1 * MiB, 'x'));
  }
  const auto got = chat.read(stream + finish("stop"));
  BOOST_TEST(got.outcome == llm_outcome::malformed);
  BOOST_TEST(got.text.size() == reply_bytes);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(responses_wire)

BOOST_AUTO_TEST_CASE(a_request_always_says_whether_to_store) {
  provider_config provider;
  auto ask = ask_of("gpt-4o");
  ask.choice.temperature = 0.5;
  auto body = json::parse(responses_request(ask, provider));
  BOOST_TEST(body["store"] == false);
  BOOST_TEST(body["stream"] == true);
  BOOST_TEST(body["input"][0]["role"] == "system");
  BOOST_TEST(body["max_output_tokens"] == 32'000);
  BOOST_TEST(body["temperature"] == 0.5);
  BOOST_TEST(!body.contains("reasoning"));
  provider.store_responses = true;
  BOOST_TEST(json::parse(responses_request(ask, provider))["store"] == true);
}

BOOST_AUTO_TEST_CASE(reasoning_extras_go_to_models_that_take_them) {
  auto body = json::parse(responses_request(ask_of("gpt-5"), {}));
  BOOST_TEST(body["reasoning"]["effort"] == "high");
  BOOST_TEST(body["text"]["format"]["type"] == "text");
  BOOST_TEST(body["text"]["verbosity"] == "high");
  BOOST_TEST(json::parse(responses_request(ask_of("o4-mini"), {}))["text"]["verbosity"] == "medium");
  provider_config plain;
  plain.reasoning_extras = false;
  auto ask = ask_of("gpt-5");
  BOOST_TEST(!json::parse(responses_request(ask, plain)).contains("reasoning"));
  ask.choice.reasoning_effort = "low";
  BOOST_TEST(json::parse(responses_request(ask, plain))["reasoning"]["effort"] == "low");
}

BOOST_AUTO_TEST_CASE(deltas_make_the_text_and_the_end_brings_usage) {
  const std::string stream =
      R"(data: {"type":"response.created","response":{"id":"r1","created_at":1.5,"status":"queued","text":null}})"
      "\n\n" +
      said("he") +
      R"(data: {"type":"response.some_new_kind","x":1})"
      "\n\n" +
      said("llo") +
      completed(R"("status":"completed","error":null,"incomplete_details":null,"usage":{"input_tokens":3,)"
                R"("output_tokens":5,"output_tokens_details":{"reasoning_tokens":4}})") +
      done;
  for (const std::size_t piece : {1U, 7U, 100'000U}) {
    const auto got = responses.read(stream, piece);
    BOOST_TEST(got.outcome == llm_outcome::replied);
    BOOST_TEST(got.text == "hello");
    BOOST_TEST(got.response_id == "r1");
    BOOST_TEST(got.finish_reason == "completed");
    BOOST_TEST(got.usage.reasoning_tokens.value() == 4U);
  }
}

BOOST_AUTO_TEST_CASE(the_finished_response_mends_a_lost_delta) {
  const auto got = responses.read(said("he") + completed(R"("status":"completed","output":[{"type":"reasoning"},)"
                                                         R"({"type":"message","content":[{"type":"output_text",)"
                                                         R"("text":"hello"}]}])"));
  BOOST_TEST(got.outcome == llm_outcome::replied);
  BOOST_TEST(got.text == "hello");
}

BOOST_AUTO_TEST_CASE(a_cut_reply_is_truncated_however_it_is_said) {
  const std::string incomplete =
      R"(data: {"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}})"
      "\n\n";
  BOOST_TEST(responses.read(said("x") + incomplete).outcome == llm_outcome::truncated);
  BOOST_TEST(responses.read(incomplete).outcome == llm_outcome::empty);
  BOOST_TEST(responses
                     .read(said("x") +
                           completed(R"("status":"incomplete","incomplete_details":{"reason":"max_output_tokens"})"))
                     .outcome == llm_outcome::truncated,
             "completed in name only");
  answer capped = responses;
  capped.cap = 5;
  const auto silent = completed(R"("status":"completed","usage":{"output_tokens":5})");
  BOOST_TEST(capped.read(said("x") + silent).outcome == llm_outcome::truncated, "only the tokens tell");
  capped.cap = 6;
  BOOST_TEST(capped.read(said("x") + silent).outcome == llm_outcome::replied);
  BOOST_TEST(
      responses.read(said("x") + completed(R"("status":"incomplete","incomplete_details":{"reason":"content_filter"})"))
          .outcome == llm_outcome::refused);
}

BOOST_AUTO_TEST_CASE(failures_inside_the_stream_are_named) {
  const auto failed = responses.read(
      said("half") +
      R"(data: {"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"m"}}})"
      "\n\n");
  BOOST_TEST(failed.outcome == llm_outcome::rate_limited);
  BOOST_TEST(failed.text == "half");
  BOOST_TEST(responses.read("event: error\ndata: {\"error\":{\"code\":\"500\"}}\n\n").outcome ==
             llm_outcome::overloaded);
  BOOST_TEST(responses
                 .read(R"(data: {"type":"error","code":"context_length_exceeded","message":"m"})"
                       "\n\n")
                 .outcome == llm_outcome::context_too_long);
  BOOST_TEST(responses.read(said("x") + done).outcome == llm_outcome::transport_failed, "[DONE] without an end");
  BOOST_TEST(responses.read(said("x")).outcome == llm_outcome::transport_failed);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_refused) {
  const auto got = responses.read(R"(data: {"type":"response.refusal.delta","delta":"no"})"
                                  "\n\n" +
                                  completed(R"("status":"completed")"));
  BOOST_TEST(got.outcome == llm_outcome::refused);
  BOOST_TEST(got.error == "no");
}

BOOST_AUTO_TEST_CASE(a_whole_response_is_taken_if_it_is_finished) {
  const std::string output = R"("output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}])";
  BOOST_TEST(responses.read("{\"id\":\"r\",\"status\":\"completed\"," + output + "}").text == "hi");
  BOOST_TEST(responses.read("{\"id\":\"r\",\"status\":\"in_progress\"," + output + "}").outcome ==
             llm_outcome::malformed);
}

BOOST_AUTO_TEST_SUITE_END()
