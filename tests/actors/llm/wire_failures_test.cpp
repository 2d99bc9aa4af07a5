// SPDX-License-Identifier: Apache-2.0
// Every failure that a server or the way to it has, on all four HTTP wires: the right outcome, the right next step, and
// the calls as the server counts them.
#include "messages/limits.hpp"
#include "tests/actors/llm/skip.hpp"
#include "tests/actors/llm/wire_house.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;
using enum regatta::llm_outcome;

namespace {

/// An event-wise stream that has begun, or half a body.
std::string half(const wire_words& wire) {
  return wire.streams() ? std::string{wire.start} + wire.delta("half") : R"([{"output":"half)";
}
std::string half_text(const wire_words& wire) {
  return wire.streams() ? "half" : "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class case_list {
public:
  explicit case_list(const wire_words& wire) : wire_{wire} {}

  wire_case& add(const std::string& name, step_list rules, llm_outcome outcome, std::uint32_t calls) {
    wire_case x;
    x.name = name;
    x.kind = wire_.kind;
    x.rules = std::move(rules);
    x.outcome = outcome;
    x.calls = calls;
    x.text = outcome == replied || outcome == truncated ? "fine" : "";
    all_.push_back(std::move(x));
    return all_.back();
  }
  /// Fails once and is asked again.
  wire_case& mends(const std::string& name, nlohmann::json failure) {
    return add(name, {std::move(failure), good_answer(wire_)}, replied, 2);
  }
  std::vector<wire_case> take() { return std::move(all_); }

private:
  const wire_words& wire_;
  std::vector<wire_case> all_;
};

void add_limits(case_list& to) {
  const std::string body = R"({"error":{"type":"rate_limit_error","message":"slow down"}})";
  to.mends("429 with seconds", refusal(429, body, {{"retry-after", "1"}})).at_least = 1s;
  to.mends("429 with a date",
           refusal(429, body,
                   {{"date", "Sun, 06 Nov 1994 08:49:37 GMT"}, {"retry-after", "Sun, 06 Nov 1994 08:49:38 GMT"}}))
      .at_least = 1s;
  to.mends("429 with milliseconds", refusal(429, body, {{"retry-after", "60"}, {"retry-after-ms", "300"}})).at_least =
      300ms;
  to.mends("429 of a spent limit", refusal(429, body,
                                           {{"x-ratelimit-remaining-requests", "0"},
                                            {"x-ratelimit-reset-requests", "300ms"},
                                            {"x-ratelimit-remaining-tokens", "9"},
                                            {"x-ratelimit-reset-tokens", "6m0s"}}))
      .at_least = 300ms;
  to.mends("429 of an upstream", refusal(429, body, {{"llm_provider-retry-after", "1"}})).at_least = 1s;
  to.mends("429 without a time", refusal(429, body));
  to.mends("429 with nothing at all", refusal(429, "", {{"content-type", "text/plain"}}));
  to.add("429 of a spent quota", {refusal(429, R"({"error":{"code":"insufficient_quota"}})")}, quota_exhausted, 1);
}

void add_statuses(case_list& to) {
  for (const int status : {408, 500, 502, 503, 504, 529}) {
    to.mends(std::to_string(status) + " once", refusal(status, R"({"error":{"message":"m"}})"));
  }
  to.add("500 for ever", {refusal(500, "Internal Server Error", {{"content-type", "text/plain"}})}, overloaded, 2);
  to.add("401", {refusal(401, R"({"error":{"message":"bad key sk-secret"}})")}, unauthorized, 1);
  to.add("403", {refusal(403, "<html>forbidden</html>", {{"content-type", "text/html"}})}, unauthorized, 1);
  to.add("402", {refusal(402, "{}")}, quota_exhausted, 1);
  to.add("404", {refusal(404, R"({"detail":"Not Found"})")}, bad_request, 1);
  to.add("302", {refusal(302, "", {{"location", "http://127.0.0.1:1/"}})}, bad_request, 1);
  to.add("400", {refusal(400, R"({"error":{"message":"bad parameter"}})")}, bad_request, 1);
  to.add("400 too long", {refusal(400, R"({"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}})")},
         context_too_long, 1);
  to.add("413", {refusal(413, R"({"error":{"type":"request_too_large"}})")}, context_too_long, 1);
  to.add("400 without credit", {refusal(400, R"({"error":{"message":"Your credit balance is too low"}})")},
         quota_exhausted, 1);
}

void add_connections(const wire_words& wire, case_list& to) {
  to.mends("reset", answers({says(half(wire)), resets()}));
  to.mends("closed", answers({says(half(wire)), closes()}));
  to.mends("reset before the head", before_head(resets()));
  to.add("cut for ever", {answers({says(half(wire)), resets()})}, transport_failed, 2).text = half_text(wire);
  // An end that HTTP finds good, in the midst of a reply. Half a body of JSON is no stream that may be resumed.
  auto& ends = to.add("ends early", {answers({says(half(wire))})}, wire.streams() ? transport_failed : malformed,
                      wire.streams() ? 2 : 1);
  ends.text = half_text(wire);
  to.add("nobody there", {}, transport_failed, 0).tune = [](provider_config& x) { x.base_url = "http://127.0.0.1:1"; };
  to.add("stalls before the head", {before_head(stalls())}, timed_out, 1).tune = [](provider_config& x) {
    x.first_timeout = 300ms;
  };
  auto& silent = to.add("stalls within", {answers({says(half(wire)), stalls()})}, timed_out, 1);
  silent.text = half_text(wire);
  silent.tune = [](provider_config& x) {
    x.idle_timeout = 300ms;
    x.first_timeout = 2s;
  };
  auto& trickles = to.add("pings without end", {answers({repeats(": ping\n\n", 3), stalls()})}, timed_out, 1);
  trickles.tune = [](provider_config& x) { x.first_timeout = 300ms; };
}

void add_framings(const wire_words& wire, case_list& to) {
  const std::string text =
      "gr\xC3\xBC\xC3\x9F"
      "e \xF0\x9F\x99\x82";
  const auto whole = wire.whole(text);
  to.add("byte by byte", {answers({drips(whole, 1)})}, replied, 1).text = text;
  const auto at = whole.find("\xF0\x9F");
  to.add("split in a character", {answers({cuts(whole, {at + 1, at + 3})})}, replied, 1).text = text;
  auto windows = replaced(whole, "\n", "\r\n");
  to.add("windows line ends", {answers({cuts(windows, {windows.find('\r') + 1})})}, replied, 1).text = text;
  auto& closes = to.add("ended by closing", {good_answer(wire)}, replied, 1);
  closes.rules[0]["framing"] = "close";
  to.add("events as plain text", {answers({says(wire.whole("fine"))}, "text/plain")}, replied, 1);
  to.add("events as HTML", {answers({says(wire.whole("fine"))}, "text/html")}, replied, 1);
  to.add("events as JSON", {answers({says(wire.whole("fine"))}, "application/json")}, replied, 1);
  to.add("a body as events", {answers({says(wire.body("fine"))})}, replied, 1);
  to.add("a page", {answers({says("<html>Sign in</html>")}, "text/html")}, malformed, 1);
  to.add("a page as JSON", {answers({says("<html>Sign in</html>")}, "application/json")}, malformed, 1);
  auto& nothing = to.add("204", {answers({})}, malformed, 1);
  nothing.rules[0]["status"] = 204;
  nothing.rules[0]["framing"] = "length";
  to.add("no byte", {answers({})}, malformed, 1);
  to.add("the end mark alone", {answers({says("data: [DONE]\n\n")})}, malformed, 1);
  to.add("not JSON", {answers({says("data: {\"choices\":\n\n")})}, malformed, 1);
  to.add("blank", {answers({says(wire.whole(" \\n"))})}, empty, 1).text = " \n";
}

void add_errors_inside(const wire_words& wire, case_list& to) {
  const auto error = [&](const std::string& object) {
    return answers({says((wire.streams() ? half(wire) : "") + wire.error(object))});
  };
  to.mends("limit inside", error(R"({"type":"rate_limit_error","code":"rate_limit_exceeded","message":"slow"})"));
  to.mends("overload inside", error(R"({"type":"overloaded_error","message":"busy"})"));
  const auto final = [&](const std::string& name, const std::string& object, llm_outcome outcome, std::uint32_t calls) {
    to.add(name, {error(object)}, outcome, calls).text = half_text(wire);
  };
  final("server error inside", R"({"type":"server_error","message":"m"})", overloaded, 2);
  final("bad request inside", R"({"type":"invalid_request_error","message":"m"})", bad_request, 1);
  final("too long inside", R"({"code":"context_length_exceeded","message":"m"})", context_too_long, 1);
  final("quota inside", R"({"code":"insufficient_quota","message":"m"})", quota_exhausted, 1);
  final("key inside", R"({"type":"authentication_error","message":"m"})", unauthorized, 1);
}

void add_giants(const wire_words& wire, case_list& to) {
  const std::string x64(64 * KiB, 'x');
  const auto forever = [&](const std::string& before, const std::string& piece) {
    return answers({says(before), repeats(piece, 300), stalls()});
  };
  if (wire.streams()) {
    auto& reply = to.add("a giant reply", {forever(std::string{wire.start}, wire.delta(x64))}, malformed, 1);
    reply.check = [](const prompt_ended& got) { BOOST_TEST(got.error.find("larger than") != std::string::npos); };
    // What is kept of a malformed reply is its head.
    reply.text = std::string(kept_output_head, 'x');
    to.add("a giant event", {forever("data: ", x64)}, malformed, 1);
  } else {
    to.add("a giant reply", {forever(R"([{"output":")", x64)}, malformed, 1);
  }
}

void add_lies(const wire_words& wire, case_list& to) {
  if (!wire.streams()) {
    return;
  }
  const std::string key = wire.kind == provider_kind::chat ? "\"completion_tokens\":5" : "\"output_tokens\":5";
  const auto lie = [&](const std::string& name, const std::string& value, llm_outcome outcome) -> wire_case& {
    const auto told = key.substr(0, key.size() - 1) + value;
    return to.add(name, {answers({says(replaced(wire.whole("fine"), key, told))})}, outcome, 1);
  };
  // The Messages wire has said 1 at its start.
  const std::uint64_t otherwise = wire.kind == provider_kind::anthropic ? 1 : 0;
  for (const auto* value : {"-5", "\"many\"", "null", "[5]"}) {
    lie("usage of " + std::string{value}, value, replied).check = [=](const prompt_ended& got) {
      BOOST_TEST(got.usage.output_tokens.value_or(0) == otherwise);
    };
  }
  // On the Responses wire a reply of more tokens than were allowed was cut, whatever else it says.
  lie("usage without end", "18446744073709551615", wire.kind == provider_kind::responses ? truncated : replied).check =
      [](const prompt_ended& got) { BOOST_TEST(got.usage.output_tokens.value() == 18446744073709551615U); };
  to.add("cut at the limit",
         {answers({says(std::string{wire.start} + wire.delta("fine") + std::string{wire.finish_cut})})}, truncated, 1);
}

std::vector<wire_case> failures() {
  std::vector<wire_case> out;
  for (const auto& wire : all_wires) {
    case_list list{wire};
    list.add("good", {good_answer(wire)}, replied, 1);
    add_limits(list);
    add_statuses(list);
    add_connections(wire, list);
    add_framings(wire, list);
    add_errors_inside(wire, list);
    add_giants(wire, list);
    add_lies(wire, list);
    for (auto& x : list.take()) {
      out.push_back(std::move(x));
    }
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(failures_on_all_wires)

BOOST_AUTO_TEST_CASE(each_has_its_outcome_its_next_step_and_its_number_of_calls) {
  wire_house house{failures()};
  REGATTA_NEEDS(house.is_running(), "imposter");
  house.run();
}

BOOST_AUTO_TEST_CASE(a_stranger_behind_tls_is_asked_nothing_and_not_tried_again) {
  const imposter server{R"({"rules": []})", {"--tls"}};
  REGATTA_NEEDS(server.is_running(), "imposter");
  std::vector<wire_case> cases;
  for (const auto& wire : all_wires) {
    wire_case x{"tls", wire.kind, {}, transport_failed, 0, ""};
    x.tune = [&](provider_config& provider) { provider.base_url = server.base_url(); };
    x.check = [](const prompt_ended& got) { BOOST_TEST(got.tries == 1U); };
    cases.push_back(std::move(x));
  }
  wire_house house{std::move(cases)};
  BOOST_REQUIRE(house.is_running());
  house.run();
}

BOOST_AUTO_TEST_SUITE_END()
