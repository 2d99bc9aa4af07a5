// SPDX-License-Identifier: Apache-2.0
// The gateway with its real threads, against the imposter, real programs and a recording.
#include "actors/llm/llm_gateway.hpp"
#include "messages/install_paths.hpp"
#include "tests/actors/llm/skip.hpp"
#include "tests/actors/llm/waiting_list.hpp"
#include "tests/support/imposter/imposter_process.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

struct told {
  test::waiting_list<prompt_ended> ended;
  test::waiting_list<prompt_progress> progress;
  test::waiting_list<prompt_delta> deltas;
};

prompt_sink_actor::behavior_type listener(prompt_sink_actor::pointer, told* to) {
  return {
      [=](const prompt_progress& x) { to->progress.add(x); },
      [=](const prompt_delta& x) { to->deltas.add(x); },
      [=](const prompt_ended& x) { to->ended.add(x); },
  };
}

struct one_gateway {
  explicit one_gateway(provider_config provider) {
    provider.name = "p";
    llm_gateway_config config;
    config.providers = {std::move(provider)};
    config.sink = sink;
    gateway = spawn_llm_gateway(system, std::move(config));
  }
  ~one_gateway() {
    caf::anon_send_exit(gateway, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(sink, caf::exit_reason::user_shutdown);
    gateway = nullptr;
    sink = nullptr;
  }

  template <class Reply, class Message>
  caf::expected<Reply> ask(Message msg) {
    caf::scoped_actor from{system};
    caf::expected<Reply> answer{caf::sec::request_timeout};
    from->request(gateway, 10s, std::move(msg))
        .receive([&](Reply& x) { answer = std::move(x); }, [&](caf::error& e) { answer = std::move(e); });
    return answer;
  }
  void prompt_of(std::uint32_t worker) {
    prompt x;
    x.race = race_id{"r"};
    x.worker = make_worker_id(worker);
    x.round = 1;
    x.attempt = 1;
    x.choice.provider = "p";
    x.choice.model = "m";
    x.system = "sys";
    x.user = "user";
    BOOST_REQUIRE(ask<accepted>(x));
  }
  prompt_ended ended(std::size_t count = 1) {
    BOOST_REQUIRE(out.ended.wait([&](const auto& all) { return all.size() >= count; }));
    return out.ended.all().at(count - 1);
  }

  told out;
  caf::actor_system_config system_config;
  caf::actor_system system{system_config};
  prompt_sink_actor sink = system.spawn(listener, &out);
  llm_gateway_actor gateway;
};

provider_config http_provider(const test::imposter& server, provider_kind kind) {
  provider_config out;
  out.kind = kind;
  out.base_url = server.base_url();
  out.ca_file = server.ca();
  out.api_key = "sk-secret";
  out.backoff_first = 50ms;
  return out;
}

struct temporary_file {
  explicit temporary_file(const std::string& text) {
    close(mkstemp(path.data()));
    std::ofstream{path} << text;
  }
  ~temporary_file() { unlink(path.c_str()); }
  std::string path = "/tmp/regatta-recording-XXXXXX";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(gateway_on_the_wire)

BOOST_AUTO_TEST_CASE(both_wires_bring_a_reply_plainly_and_over_tls) {
  for (const auto kind : {provider_kind::chat, provider_kind::responses}) {
    for (const bool is_tls : {false, true}) {
      const auto wire = to_string(kind);
      const test::imposter server{
          R"({"rules": [{"steps": [{")" + wire +
              R"(": {"text": "h\u00fcbsch \ud83d\ude42", "input_tokens": 7, "output_tokens": 9}}]}]})",
          is_tls ? std::vector<std::string>{"--tls"} : std::vector<std::string>{}};
      REGATTA_NEEDS(server.is_running(), "imposter");
      one_gateway gateway{http_provider(server, kind)};
      gateway.prompt_of(1);
      const auto ended = gateway.ended();
      BOOST_TEST(ended.outcome == llm_outcome::replied);
      BOOST_TEST(ended.text ==
                 "h\xC3\xBC"
                 "bsch \xF0\x9F\x99\x82");
      BOOST_TEST(ended.usage.input_tokens.value() == 7U);
      BOOST_TEST(ended.usage.output_tokens.value() == 9U);
      BOOST_TEST(ended.error.empty());
      std::string shown;
      BOOST_TEST(gateway.out.deltas.wait([&](const auto& all) {
        shown.clear();
        std::for_each(all.begin(), all.end(), [&](const auto& x) { shown += x.text; });
        return shown == ended.text;
      }));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_split_anywhere_with_windows_line_ends_is_read) {
  // Bytes written out by hand, independent of the codecs: CRLF lines, comments, an unknown event, a character cut in
  // two.
  const test::imposter server{R"({"rules": [{"steps": [
    {"text": ": ping\r\n\r\n", "cut": [1, 2, 3, 7, 9]},
    {"text": "event: odd\r\ndata: {\"foo\": 1}\r\n\r\n", "drip_ms": 1},
    {"text": "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"gr\u00fc\u00dfe\"}}]}\r\n\r\n", "drip_ms": 1},
    {"text": "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n"},
    {"text": "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\r\n\r\ndata: [DONE]\r\n\r\n", "cut": [5]}]}]})"};
  REGATTA_NEEDS(server.is_running(), "imposter");
  one_gateway gateway{http_provider(server, provider_kind::chat)};
  gateway.prompt_of(1);
  BOOST_TEST(gateway.ended().outcome == llm_outcome::replied);
  BOOST_TEST(gateway.ended().text ==
             "gr\xC3\xBC\xC3\x9F"
             "e");
  BOOST_TEST(gateway.ended().usage.output_tokens.value() == 2U);
}

BOOST_AUTO_TEST_CASE(a_429_a_503_and_a_cut_stream_are_mended_by_asking_again) {
  const test::imposter server{R"({"rules": [
    {"times": 1, "status": 429, "headers": {"retry-after-ms": "100", "content-type": "application/json"}, "steps": [{"text": "{}"}]},
    {"times": 1, "status": 503, "framing": "close", "steps": [{"text": "Internal Server Error"}]},
    {"times": 1, "steps": [{"text": "data: {\"choices\":[{\"delta\":{\"content\":\"ha\"}}]}\n\n"}, {"reset": true}]},
    {"steps": [{"chat": {"text": "whole"}}]}]})"};
  REGATTA_NEEDS(server.is_running(), "imposter");
  one_gateway gateway{http_provider(server, provider_kind::chat)};
  gateway.prompt_of(1);
  const auto ended = gateway.ended();
  BOOST_TEST(ended.outcome == llm_outcome::replied);
  BOOST_TEST(ended.text == "whole");
  BOOST_TEST(ended.tries == 4U);
  BOOST_TEST(gateway.out.progress.wait([](const auto& all) {
    return std::any_of(all.begin(), all.end(),
                       [](const auto& x) { return x.phase == prompt_phase::throttled && x.until_us > 0; });
  }));
}

BOOST_AUTO_TEST_CASE(errors_are_named_and_the_key_never_shown) {
  const test::imposter server{R"({"rules": [
    {"match": "worker", "steps": []},
    {"times": 1, "headers": {"content-type": "text/html"}, "steps": [{"text": "<html>login</html>"}]},
    {"times": 1, "steps": [{"text": "data: {\"error\": {\"code\": 400, \"message\": \"bad\"}}\n\n"}]},
    {"times": 1, "status": 401, "steps": [{"text": "{\"error\": {\"message\": \"Incorrect API key: sk-secret\"}}"}]}]})"};
  REGATTA_NEEDS(server.is_running(), "imposter");
  one_gateway gateway{http_provider(server, provider_kind::chat)};
  gateway.prompt_of(1);
  BOOST_TEST(gateway.ended(1).outcome == llm_outcome::malformed);
  gateway.prompt_of(2);
  BOOST_TEST(gateway.ended(2).outcome == llm_outcome::bad_request);
  gateway.prompt_of(3);
  BOOST_TEST(gateway.ended(3).outcome == llm_outcome::unauthorized);
  BOOST_TEST(gateway.ended(3).error == "401: Incorrect API key: [redacted]");
  gateway.prompt_of(4);
  BOOST_TEST(gateway.ended(4).error.starts_with("401: Incorrect API key: [redacted] (asked "));
}

BOOST_AUTO_TEST_CASE(a_withdrawal_closes_the_streams_on_the_server_and_is_then_answered) {
  for (const bool is_tls : {false, true}) {
    test::imposter server{
        R"({"rules": [{"steps": [{"text": "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"}, {"stall": true}]}]})",
        is_tls ? std::vector<std::string>{"--tls"} : std::vector<std::string>{}};
    REGATTA_NEEDS(server.is_running(), "imposter");
    one_gateway gateway{http_provider(server, provider_kind::chat)};
    for (std::uint32_t worker = 1; worker <= 4; ++worker) {
      gateway.prompt_of(worker);
    }
    BOOST_REQUIRE(gateway.out.deltas.wait([](const auto& all) { return all.size() == 4; }));
    const auto start = std::chrono::steady_clock::now();
    const auto answer = gateway.ask<prompts_withdrawn>(withdraw_prompts{race_id{"r"}, {}});
    const auto took = std::chrono::steady_clock::now() - start;
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->calls == 4U);
    BOOST_TEST((took < 1s));
    BOOST_TEST_MESSAGE(
        "withdrawal of 4 streams: " << std::chrono::duration_cast<std::chrono::microseconds>(took).count() << " us");
    for (int i = 0; i < 4; ++i) {
      BOOST_TEST(!server.wait_for({"_by_client"}).empty());
    }
    BOOST_TEST(gateway.ended(4).outcome == llm_outcome::cancelled);
  }
}

BOOST_AUTO_TEST_CASE(a_stalled_stream_is_left_at_its_idle_limit) {
  test::imposter server{
      R"({"rules": [{"steps": [{"text": "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"}, {"stall": true}]}]})"};
  REGATTA_NEEDS(server.is_running(), "imposter");
  auto provider = http_provider(server, provider_kind::chat);
  provider.idle_timeout = 200ms;
  one_gateway gateway{provider};
  gateway.prompt_of(1);
  BOOST_TEST(gateway.ended().outcome == llm_outcome::timed_out);
  BOOST_TEST(gateway.ended().text == "x");
  BOOST_TEST(!server.wait_for({"closed_by_client"}).empty());
}

BOOST_AUTO_TEST_CASE(the_gateways_end_closes_everything) {
  test::imposter server{R"({"rules": [{"before": [{"stall": true}]}]})"};
  REGATTA_NEEDS(server.is_running(), "imposter");
  {
    one_gateway gateway{http_provider(server, provider_kind::responses)};
    gateway.prompt_of(1);
    BOOST_REQUIRE(!server.wait_for({"\"event\": \"call\""}).empty());
  }
  BOOST_TEST(!server.wait_for({"closed_by_client"}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gateway_with_programs)

BOOST_AUTO_TEST_CASE(a_program_is_a_provider) {
  provider_config provider;
  provider.kind = provider_kind::command;
  provider.argv = {"sh", "-c", "cat; echo; echo thanks"};
  one_gateway gateway{provider};
  gateway.prompt_of(1);
  BOOST_TEST(gateway.ended().outcome == llm_outcome::replied);
  BOOST_TEST(gateway.ended().text == "sys\n\nuser\nthanks\n");
}

BOOST_AUTO_TEST_CASE(a_program_past_its_deadline_is_killed) {
  provider_config provider;
  provider.kind = provider_kind::command;
  provider.argv = {"sh", "-c", "echo begun; sleep 1000"};
  provider.total_timeout = 300ms;
  one_gateway gateway{provider};
  gateway.prompt_of(1);
  BOOST_TEST(gateway.ended().outcome == llm_outcome::timed_out);
  BOOST_TEST(gateway.ended().text == "begun\n");
}

BOOST_AUTO_TEST_CASE(a_failing_program_is_not_asked_again) {
  provider_config provider;
  provider.kind = provider_kind::command;
  provider.argv = {"sh", "-c", "echo no credit >&2; exit 4"};
  one_gateway gateway{provider};
  gateway.prompt_of(1);
  BOOST_TEST(gateway.ended().outcome == llm_outcome::program_failed);
  BOOST_TEST(gateway.ended().error == "exit status 4: no credit ");
  BOOST_TEST(gateway.ended().tries == 1U);
}

BOOST_AUTO_TEST_CASE(a_recording_is_a_provider) {
  const temporary_file file{
      "{\"format\": \"regatta-recording/1\"}\n"
      "{\"worker\": 1, \"round\": 1, \"deltas\": [\"a\", \"b\"], \"delay_ms\": [5, 30], \"finish\": \"stop\"}\n"};
  provider_config provider;
  provider.kind = provider_kind::replay;
  provider.recording = file.path;
  one_gateway gateway{provider};
  gateway.prompt_of(1);
  BOOST_TEST(gateway.ended().text == "ab");
  BOOST_TEST(gateway.ended().elapsed.count() >= 35);
  gateway.prompt_of(2);
  BOOST_TEST(gateway.ended(2).outcome == llm_outcome::recording_ended);
}

BOOST_AUTO_TEST_SUITE_END()
