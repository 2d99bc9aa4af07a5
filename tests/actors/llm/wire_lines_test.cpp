// SPDX-License-Identifier: Apache-2.0
// Framings that real servers were seen to use (docs/llm.md, "What real servers say"), played byte by byte.
#include "tests/actors/llm/skip.hpp"
#include "tests/actors/llm/wire_house.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;
using enum regatta::llm_outcome;

namespace {

const auto& chat_words = words_of(provider_kind::chat);
const auto& responses_words = words_of(provider_kind::responses);
const auto& messages_words = words_of(provider_kind::anthropic);
const std::string done = "data: [DONE]\n\n";

std::string data(const std::string& json) {
  return "data: " + json + "\n\n";
}
std::string named(const std::string& name, const std::string& json) {
  return "event: " + name + "\n" + data(json);
}

wire_case plays(const std::string& name, provider_kind kind, step_list rules, llm_outcome outcome = replied,
                const std::string& text = "fine") {
  wire_case x{name, kind, std::move(rules), outcome, 1, text};
  return x;
}
wire_case chat_says(const std::string& name, const std::string& bytes, llm_outcome outcome = replied,
                    const std::string& text = "fine") {
  return plays(name, provider_kind::chat, {answers({says(bytes)})}, outcome, text);
}
wire_case responses_say(const std::string& name, const std::string& bytes, llm_outcome outcome = replied,
                        const std::string& text = "fine") {
  return plays(name, provider_kind::responses, {answers({says(bytes)})}, outcome, text);
}
wire_case messages_say(const std::string& name, const std::string& bytes, llm_outcome outcome = replied,
                       const std::string& text = "fine") {
  return plays(name, provider_kind::anthropic, {answers({says(bytes)})}, outcome, text);
}
wire_case with(wire_case x, std::uint32_t calls) {
  x.calls = calls;
  return x;
}
wire_case with(wire_case x, std::function<void(const prompt_ended&)> check) {
  x.check = std::move(check);
  return x;
}
wire_case capped(wire_case x, std::uint32_t cap) {
  x.tune = [cap](provider_config& provider) { provider.max_output_tokens = cap; };
  return x;
}

std::string chat_delta(const std::string& inside, const std::string& more = "") {
  return data(R"({"id":"c","choices":[{"index":0,"delta":{)" + inside + "}}]" + more + "}");
}
std::string chat_finish(const std::string& word, const std::string& more = "") {
  return data(R"({"id":"c","choices":[{"index":0,"delta":{},"finish_reason":")" + word + "\"}]" + more + "}");
}
const std::string chat_usage = R"(,"usage":{"prompt_tokens":3,"completion_tokens":5})";

std::string said(const std::string& text) {
  return data(R"({"type":"response.output_text.delta","delta":")" + text + "\"}");
}
std::string completed(const std::string& inside) {
  return data(R"({"type":"response.completed","response":{"id":"r",)" + inside + "}}");
}

const auto five_tokens = [](const prompt_ended& got) { BOOST_TEST(got.usage.output_tokens.value() == 5U); };
const auto no_usage = [](const prompt_ended& got) { BOOST_TEST(!got.usage.output_tokens); };

/// One event a piece, each in a write of its own.
step_list event_by_event(const std::string& stream, int pause_ms) {
  step_list out;
  for (std::size_t at = 0; at < stream.size();) {
    const auto end = std::min(stream.find("\n\n", at), stream.size() - 2) + 2;
    out.push_back(says(stream.substr(at, end - at)));
    out.push_back(pauses(pause_ms));
    at = end;
  }
  return out;
}

void add_framing(std::vector<wire_case>& to) {
  // 1: the type in the data counts, whether no event has a name, one or all.
  to.push_back(responses_say("1 no names", responses_words.whole("fine")));
  const auto failing =
      std::string{responses_words.start} + said("half") + named("error", R"({"error":{"code":"429","message":"m"}})");
  to.push_back(with(plays("1 name on the failing one", provider_kind::responses,
                          {answers({says(failing)}), good_answer(responses_words)}),
                    2));
  to.push_back(
      responses_say("1 names on all",
                    named("response.created", R"({"type":"response.created","response":{"id":"r"}})") +
                        named("response.output_text.delta", R"({"type":"response.output_text.delta","delta":"fine"})") +
                        named("response.completed", R"({"type":"response.completed","response":{}})")));
  to.push_back(
      responses_say("1 names that lie", named("error", R"({"type":"response.output_text.delta","delta":"fine"})") +
                                            named("x", R"({"type":"response.completed","response":{}})")));
  // 2: [DONE] here and there.
  to.push_back(chat_says("2 no end mark", chat_delta(R"("content":"fine")") + chat_finish("stop")));
  to.push_back(responses_say("2 end mark", responses_words.whole("fine") + done));
  to.push_back(messages_say("2 end mark", messages_words.whole("fine") + done));
  for (const auto& end : {std::string{}, done}) {
    to.push_back(
        with(chat_says(end.empty() ? "2 error without end mark" : "2 error with end mark",
                       chat_delta(R"("content":"half")") + chat_words.error(R"({"message":"m","code":400})") + end,
                       bad_request, "half"),
             1));
  }
  // 4: an error as events behind a 500; the cause is in its words only.
  for (const auto& wire : all_wires) {
    auto behind =
        answers({says(data(R"({"error":{"message":"RateLimitError: slow down","type":null,"code":"500"}})") + done)});
    behind["status"] = 500;
    to.push_back(
        with(with(plays("4 events behind a 500", wire.kind, {behind}, overloaded, ""), 2), [](const auto& got) {
          BOOST_TEST(got.http_status == 500U);
          BOOST_TEST(got.error.find("slow down") != std::string::npos);
        }));
  }
  // 5 and 10: all in one piece (everywhere else here), one event a piece, after silence, with a lag between them.
  for (const auto& wire : all_wires) {
    const auto whole = wire.whole("fine");
    to.push_back(plays("5 one event a piece", wire.kind, {answers(event_by_event(whole, 0))}));
    to.push_back(plays("10 slow events", wire.kind, {answers(event_by_event(whole, 20))}));
    to.push_back(plays("10 silence before the head", wire.kind, {before_head(pauses(500), good_answer(wire))}));
    to.back().at_least = 500ms;
  }
  // 8: two ways in which uvicorn ends a connection after an error.
  for (const auto& wire : all_wires) {
    auto told = refusal(500, "Internal Server Error", {{"content-type", "text/plain"}, {"connection", "close"}});
    told["framing"] = "chunked";
    told["steps"].push_back(closes());
    auto untold = refusal(500, "Internal Server Error", {{"content-type", "text/plain"}});
    untold["steps"].push_back(closes());
    to.push_back(with(plays("8 told close", wire.kind, {told, good_answer(wire)}), 2));
    to.push_back(with(plays("8 untold close", wire.kind, {untold, good_answer(wire)}), 2));
  }
}

void add_chat(std::vector<wire_case>& to) {
  const auto rest = chat_finish("stop") + done;
  const auto text = chat_delta(R"("content":"fine")");
  // 11: first chunks and later ones.
  to.push_back(chat_says("11 role and empty", chat_delta(R"("role":"assistant","content":"")") + text + rest));
  to.push_back(chat_says("11 role alone", chat_delta(R"("role":"assistant")") + text + rest));
  to.push_back(chat_says("11 role and null", chat_delta(R"("role":"assistant","content":null)") +
                                                 chat_delta(R"("role":null,"content":"fine")") + rest));
  to.push_back(chat_says("11 role and text",
                         chat_delta(R"("role":"assistant","content":"fi")") + chat_delta(R"("content":"ne")") + rest));
  // 13: usage in five places.
  to.push_back(
      with(chat_says("13 no choices", text + chat_finish("stop") + data(R"({"choices":[])" + chat_usage + "}") + done),
           five_tokens));
  to.push_back(with(chat_says("13 after the finish", text + chat_finish("stop") + chat_delta("", chat_usage) + done),
                    five_tokens));
  to.push_back(with(chat_says("13 on the finish", text + chat_finish("stop", chat_usage) + done), five_tokens));
  to.push_back(with(chat_says("13 growing", chat_delta(R"("content":"fi")", R"(,"usage":{"completion_tokens":2})") +
                                                chat_delta(R"("content":"ne")", R"(,"usage":{"completion_tokens":4})") +
                                                chat_finish("stop", chat_usage) + done),
                    five_tokens));
  to.push_back(with(chat_says("13 never", text + rest), no_usage));
  // 14: chunks without text while a character is not whole; a paid reply of nothing but those.
  const auto blank = chat_delta(R"("content":"")");
  to.push_back(chat_says("14 empty chunks", blank + blank + text + blank + rest));
  to.push_back(with(chat_says("14 nothing but empty chunks",
                              blank + blank + blank + blank + chat_finish("length", chat_usage) + done, empty, ""),
                    five_tokens));
  // 16: two choices, in one chunk or in turns.
  to.push_back(with(
      chat_says(
          "16 two in one chunk",
          data(R"({"choices":[{"index":0,"delta":{"content":"fine"}},{"index":1,"delta":{"content":"OTHER"}}]})") +
              data(
                  R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"},{"index":1,"delta":{},"finish_reason":"length"}])" +
                  chat_usage + "}") +
              done),
      five_tokens));
  to.push_back(chat_says("16 in turns", data(R"({"choices":[{"index":1,"delta":{"content":"OTHER"}}]})") +
                                            data(R"({"choices":[{"index":1,"delta":{},"finish_reason":"length"}]})") +
                                            text + rest));
  // 17: keys that nobody documents, in any order, and an id that changes.
  to.push_back(with(
      chat_says(
          "17 odd keys",
          data(R"({"choices":[{"token_ids":[1],"stop_reason":null,"delta":{"content":"fi"},"index":0}],"id":"first",)"
               R"("prompt_token_ids":[1,2],"system_fingerprint":"","provider_specific_fields":null,"created":1})") +
              data(
                  R"({"created":1,"id":"second","choices":[{"delta":{"content":"ne"},"index":0,"finish_reason":"stop"}]})") +
              done),
      [](const auto& got) { BOOST_TEST(got.response_id == "first"); }));
  // 26: escapes and raw characters, with spaces and without, in one stream.
  to.push_back(chat_says("26 escapes",
                         data("{\"choices\" : [ {\"index\": 0, \"delta\": {\"content\" : \"\\ud83d\\ude42 \"}} ]}") +
                             data("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"gr\xC3\xBC\\u00df\"}}]}") + rest,
                         replied, "\xF0\x9F\x99\x82 gr\xC3\xBC\xC3\x9F"));
}

void add_responses(std::vector<wire_case>& to) {
  // 19: cut by its cap, said in three ways.
  to.push_back(responses_say("19 incomplete", said("fine") + std::string{responses_words.finish_cut}, truncated));
  to.push_back(responses_say(
      "19 completed but incomplete inside",
      said("fine") + completed(R"("status":"incomplete","incomplete_details":{"reason":"max_output_tokens"})"),
      truncated));
  const auto silent = said("fine") + completed(R"("status":"completed","usage":{"output_tokens":5})");
  to.push_back(capped(responses_say("19 only the tokens tell", silent, truncated), 5));
  to.push_back(capped(responses_say("19 below the cap", silent), 6));
  // 20: odd types, a long id, a foreign key.
  const std::string long_id(390, 'r');
  to.push_back(
      with(responses_say(
               "20 odd types",
               data(R"({"model":"x","type":"response.created","response":{"id":")" + long_id +
                    R"(","created_at":1764500000.25,"status":"queued","text":null,"reasoning":null,"output":[]}})") +
                   data(R"({"model":"x","type":"response.output_text.delta","delta":"fine","logprobs":null})") +
                   data(R"({"model":"x","type":"response.completed","response":{"id":")" + long_id +
                        R"(","created_at":1764500000,"status":"completed","error":null,"output":[]}})")),
           [=](const auto& got) { BOOST_TEST(got.response_id == long_id); }));
  // 22: a failure inside a good stream.
  to.push_back(with(
      with(
          responses_say("22 failed",
                        said("half") + data(R"({"type":"response.failed","response":{"status":"failed","usage":null,)"
                                            R"("error":{"code":"server_error","message":"upstream cut the stream"}}})"),
                        overloaded, "half"),
          2),
      [](const auto& got) { BOOST_TEST(got.error.find("upstream cut the stream") != std::string::npos); }));
}

void add_messages(std::vector<wire_case>& to) {
  // 23: pings behind content_block_start (as in `start`), or none.
  auto quiet = std::string{messages_words.start};
  quiet = quiet.substr(0, quiet.find("event: ping"));
  to.push_back(messages_say("23 ping", messages_words.whole("fine")));
  to.push_back(messages_say("23 no ping", quiet + messages_words.delta("fine") + std::string{messages_words.finish}));
  // 25: thinking first, the text behind it.
  to.push_back(messages_say(
      "25 thinking",
      data(R"({"type":"message_start","message":{"id":"m","content":[]}})") +
          data(
              R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})") +
          data(R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})") +
          data(R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}})") +
          data(R"({"type":"content_block_stop","index":0})") +
          data(R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})") +
          data(R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"fine"}})") +
          data(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}})") +
          data(R"({"type":"message_stop"})")));
  // 28: something of this wire, two levels down, without its beginning and end.
  const auto deep = [](const std::string& text) {
    return data(
        R"({"type":"message_delta","delta":{"type":"content_block_delta","delta":{"type":"text_delta","text":")" +
        text + R"("}},"usage":null})");
  };
  to.push_back(with(messages_say("28 no start and no stop", deep("fi") + deep("ne") + done, malformed, ""),
                    [](const auto& got) { BOOST_TEST(got.error == "message_delta before message_start"); }));
  // 29: an error that looks like a good answer. Nothing here can tell.
  to.push_back(messages_say("29 an error as text", messages_words.whole("Exception: content_filter_policy"), replied,
                            "Exception: content_filter_policy"));
}

void add_errors(std::vector<wire_case>& to) {
  for (const auto& wire : all_wires) {
    const auto refuses = [&](const std::string& name, int status, const std::string& body, llm_outcome outcome,
                             std::uint32_t calls = 1) {
      to.push_back(with(plays(name, wire.kind, {refusal(status, body)}, outcome, ""), calls));
    };
    const auto mends = [&](const std::string& name, nlohmann::json failure) {
      to.push_back(with(plays(name, wire.kind, {std::move(failure), good_answer(wire)}), 2));
    };
    // 31: `code` and `type` of every kind; the status counts first.
    refuses("31 code as a string", 400,
            R"({"error":{"code":"400","type":"throttling_error","param":"None","message":"m"}})", bad_request);
    refuses("31 code as a number", 400, R"({"error":{"code":400,"type":"BadRequestError","param":null,"message":"m"}})",
            bad_request);
    refuses("31 no code", 401, R"({"error":{"code":null,"type":null,"message":"m"}})", unauthorized);
    mends("31 a 429 of another type",
          refusal(429, R"({"error":{"code":"429","type":"throttling_error","param":"None"}})"));
    // 32: a limit with a time, with the upstream's time, with none.
    const std::string limit = R"({"error":{"type":"rate_limit_error","message":"m"}})";
    mends("32 none", refusal(429, limit));
    if (wire.kind != provider_kind::anthropic) {
      mends("32 a time", refusal(429, limit, {{"retry-after", "1"}}));
      to.back().at_least = 1s;
      mends("32 the upstreams time", refusal(429, limit, {{"llm_provider-retry-after", "1"}}));
      to.back().at_least = 1s;
    }
    // 34: a prompt that is too long, told by words only.
    refuses("34 litellm", 400, R"({"error":{"code":"400","message":"litellm.ContextWindowExceededError: m"}})",
            context_too_long);
    refuses(
        "34 vllm", 400,
        R"({"error":{"code":400,"param":"input_text","message":"This model's maximum context length is 8 tokens"}})",
        context_too_long);
    // 35: worth another try, or not; a bad parameter behind a 500 cannot be told from an outage.
    mends("35 timeout", refusal(408, R"({"error":{"type":"invalid_request_error","message":"timeout"}})"));
    mends("35 overload", refusal(529, R"({"error":{"type":"overloaded_error","message":"Overloaded"}})"));
    refuses("35 unknown model 400", 400, R"({"error":{"message":"Invalid model name"}})", bad_request);
    refuses("35 unknown model 404", 404, R"({"error":{"message":"The model does not exist"}})", bad_request);
    refuses("35 unknown model 500", 500, R"({"error":{"message":"not a local folder"}})", overloaded, 2);
    refuses("35 bad parameter 500", 500, R"({"error":{"message":"utils.py: temperature must be positive"}})",
            overloaded, 2);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(what_real_servers_say)

BOOST_AUTO_TEST_CASE(each_is_read_rightly_or_named) {
  std::vector<wire_case> cases;
  add_framing(cases);
  add_chat(cases);
  add_responses(cases);
  add_messages(cases);
  add_errors(cases);
  wire_house house{std::move(cases)};
  REGATTA_NEEDS(house.is_running(), "imposter");
  house.run();
}

BOOST_AUTO_TEST_SUITE_END()
