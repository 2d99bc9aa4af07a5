// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/gateway_rules.hpp"
#include "messages/limits.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

provider_config chat_provider() {
  provider_config x;
  x.name = "p";
  x.kind = provider_kind::chat;
  x.base_url = "http://host";
  x.api_key = "sk-secret";
  return x;
}

struct one_gateway {
  explicit one_gateway(std::vector<provider_config> providers = {chat_provider()},
                       std::map<std::string, caf::expected<recording>> recordings = {})
      : rules{std::move(providers), recordings, 1} {}

  prompt ask_of(std::uint32_t worker, std::uint32_t round = 1) const {
    prompt x;
    x.race = race_id{"r"};
    x.worker = make_worker_id(worker);
    x.round = round;
    x.attempt = 1;
    x.choice.provider = provider;
    x.user = "user";
    return x;
  }
  void ask(std::uint32_t worker, std::uint32_t round = 1) {
    BOOST_REQUIRE(rules.on_prompt(ask_of(worker, round), now));
    collect();
  }
  void advance(std::chrono::milliseconds by) {
    for (; by > 0ms; by -= 20ms) {
      const auto step = std::min<std::chrono::milliseconds>(by, 20ms);
      now.at += step;
      now.utc_us += step.count() * 1'000;
      rules.on_tick(now);
      collect();
    }
  }
  void tell(exchange_event event) {
    rules.on_exchange(std::move(event), now);
    collect();
  }
  void head(exchange_id id, std::uint32_t status, header_list headers = {}) { tell(exchange_head{id, status, headers}); }
  void body(exchange_id id, const std::string& bytes) { tell(exchange_body{id, bytes, nullptr}); }
  void end(exchange_id id, exchange_end how = exchange_end::complete) { tell(exchange_ended{id, how, "why"}); }
  void delta(exchange_id id, const std::string& text) {
    body(id, R"(data: {"choices":[{"delta":{"content":")" + text + "\"}}]}\n\n");
  }
  void finish(exchange_id id) { body(id, R"(data: {"choices":[{"delta":{},"finish_reason":"stop"}]})" "\n\n"); }
  void answer(exchange_id id, const std::string& text) {
    head(id, 200);
    delta(id, text);
    finish(id);
    end(id);
  }
  void refuse(exchange_id id, std::uint32_t status, header_list headers = {}) {
    head(id, status, std::move(headers));
    body(id, "{}");
    end(id);
  }
  void withdraw(const std::string& worker = "") {
    rules.on_withdraw({race_id{"r"}, worker_id{worker}}, ++ticket, now);
    collect();
  }
  void collect() {
    for (auto& effect : rules.take_effects()) {
      std::visit([&](auto& x) { keep(x); }, effect);
    }
  }
  void keep(begin_exchange& x) { begun.push_back(x.id); }
  void keep(begin_program& x) { programs.push_back(x); }
  void keep(stop_exchange& x) { stopped.push_back(x.id); }
  void keep(stop_program& x) { stopped.push_back(x.id); }
  void keep(withdrawal_done& x) { withdrawn.push_back(x); }
  void keep(prompt_progress& x) { progress.push_back(x); }
  void keep(prompt_delta& x) { deltas.push_back(x.text); }
  void keep(prompt_ended& x) { ended.push_back(x); }

  std::string provider = "p";
  gateway_rules rules;
  moment now{moment{}.at + 1h, 1'000'000'000'000};
  std::uint64_t ticket = 0;
  std::vector<exchange_id> begun;
  std::vector<begin_program> programs;
  std::vector<std::uint64_t> stopped;
  std::vector<withdrawal_done> withdrawn;
  std::vector<prompt_progress> progress;
  std::vector<std::string> deltas;
  std::vector<prompt_ended> ended;
};

recorded_reply recorded(std::uint32_t worker, const std::string& text) {
  recorded_reply x;
  x.key = {worker, 1, 1};
  x.deltas = {text};
  x.finish = "stop";
  return x;
}

provider_config replay_provider() {
  provider_config x;
  x.name = "replayed";
  x.kind = provider_kind::replay;
  x.recording = "f";
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gateway_calls)

BOOST_FIXTURE_TEST_CASE(a_prompt_ends_once_in_its_reply, one_gateway) {
  ask(1);
  BOOST_REQUIRE(begun.size() == 1U);
  now.at += 100ms;
  answer(begun[0], "hi");
  end(begun[0]);
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].outcome == llm_outcome::replied);
  BOOST_TEST(ended[0].text == "hi");
  BOOST_TEST(ended[0].tries == 1U);
  BOOST_TEST(ended[0].http_status == 200U);
  BOOST_TEST(ended[0].first_text.count() == 100);
  BOOST_TEST(ended[0].elapsed.count() == 100);
  BOOST_TEST(deltas == std::vector<std::string>{"hi"}, boost::test_tools::per_element());
  BOOST_TEST(!rules.has_calls());
}

BOOST_FIXTURE_TEST_CASE(an_unknown_provider_is_named_with_the_known_ones, one_gateway) {
  provider = "q";
  const auto got = rules.on_prompt(ask_of(1), now);
  BOOST_REQUIRE(!got);
  BOOST_TEST((code_of(got.error()) == ec::unknown_provider));
  BOOST_TEST(text_of(got.error()) == "provider: got \"q\", configured: p");
}

BOOST_FIXTURE_TEST_CASE(the_same_question_is_asked_once_and_its_answer_told_again, one_gateway) {
  ask(1);
  ask(1);
  BOOST_TEST(begun.size() == 1U);
  answer(begun[0], "hi");
  ask(1);
  BOOST_TEST(begun.size() == 1U);
  BOOST_REQUIRE(ended.size() == 2U);
  BOOST_TEST(ended[1].text == "hi");
  ask(1, 2);
  BOOST_TEST(begun.size() == 2U);
}

BOOST_AUTO_TEST_CASE(calls_past_the_concurrency_wait_their_turn) {
  auto config = chat_provider();
  config.concurrency = 1;
  one_gateway gateway{{config}};
  gateway.ask(1);
  gateway.ask(2);
  BOOST_TEST(gateway.begun.size() == 1U);
  BOOST_TEST((gateway.progress.back().phase == prompt_phase::queued));
  gateway.answer(gateway.begun[0], "x");
  BOOST_TEST(gateway.begun.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_held_call_gives_a_sign_of_life_every_interval, one_gateway) {
  ask(1);
  progress.clear();
  advance(20s);
  BOOST_TEST(progress.size() >= 10U);
  BOOST_TEST((progress.back().phase == prompt_phase::sent));
}

BOOST_FIXTURE_TEST_CASE(deltas_are_batched_and_never_split_a_character, one_gateway) {
  ask(1);
  head(begun[0], 200);
  delta(begun[0], "a");
  delta(begun[0], "b");
  delta(begun[0], "c");
  BOOST_TEST(deltas == std::vector<std::string>{"a"}, boost::test_tools::per_element());
  advance(20ms);
  BOOST_TEST(deltas == (std::vector<std::string>{"a", "bc"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gateway_retries)

BOOST_FIXTURE_TEST_CASE(two_minutes_of_429_are_waited_out_and_seen, one_gateway) {
  ask(1);
  for (int i = 0; i < 4; ++i) {
    refuse(begun.back(), 429, {{"retry-after", "30"}});
    BOOST_TEST((progress.back().phase == prompt_phase::throttled));
    BOOST_TEST(progress.back().until_us == now.utc_us + 30'000'000);
    BOOST_TEST(progress.back().note == "429, told to wait 30.0 s");
    const auto sent = begun.size();
    advance(30s - 20ms);
    BOOST_TEST(begun.size() == sent);
    advance(20ms);
    BOOST_TEST(begun.size() == sent + 1);
  }
  answer(begun.back(), "at last");
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].outcome == llm_outcome::replied);
  BOOST_TEST(ended[0].tries == 5U);
}

BOOST_FIXTURE_TEST_CASE(one_calls_429_holds_the_others_back, one_gateway) {
  ask(1);
  refuse(begun[0], 429, {{"retry-after", "1"}});
  ask(2);
  BOOST_TEST(begun.size() == 1U);
  BOOST_TEST((progress.back().phase == prompt_phase::throttled));
  advance(1s);
  BOOST_TEST(begun.size() == 2U, "one probe");
  advance(1s);
  BOOST_TEST(begun.size() == 2U);
  head(begun[1], 200);
  BOOST_TEST(begun.size() == 3U, "it was well received");
}

BOOST_FIXTURE_TEST_CASE(twenty_5xx_end_as_overloaded_after_the_tries_and_never_wait_past_the_cap, one_gateway) {
  ask(1);
  for (int i = 0; i < 20 && ended.empty(); ++i) {
    const auto sent = begun.size();
    refuse(begun.back(), 500);
    if (ended.empty()) {
      BOOST_TEST((progress.back().phase == prompt_phase::throttled));
      advance(60s);
      BOOST_TEST(begun.size() == sent + 1);
    }
  }
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].outcome == llm_outcome::overloaded);
  BOOST_TEST(ended[0].tries == 5U);
  BOOST_TEST(ended[0].http_status == 500U);
}

BOOST_FIXTURE_TEST_CASE(a_cut_stream_is_asked_again_from_the_start, one_gateway) {
  ask(1);
  head(begun[0], 200);
  delta(begun[0], "half");
  end(begun[0], exchange_end::cut);
  advance(1s);
  BOOST_REQUIRE(begun.size() == 2U);
  answer(begun[1], "whole");
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].text == "whole");
}

BOOST_FIXTURE_TEST_CASE(a_refused_certificate_or_key_is_not_tried_again, one_gateway) {
  ask(1);
  end(begun[0], exchange_end::refused_by_tls);
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].outcome == llm_outcome::transport_failed);
  ask(2);
  head(begun[1], 401);
  body(begun[1], R"({"error":{"message":"bad key sk-secret"}})");
  end(begun[1]);
  BOOST_TEST(ended[1].outcome == llm_outcome::unauthorized);
  BOOST_TEST(ended[1].error == "401: bad key [redacted]");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gateway_limits)

BOOST_FIXTURE_TEST_CASE(a_silent_server_is_left_after_first_timeout, one_gateway) {
  ask(1);
  advance(300s - 20ms);
  BOOST_TEST(stopped.empty());
  advance(20ms);
  BOOST_REQUIRE(stopped.size() == 1U);
  end(begun[0], exchange_end::cancelled);
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].outcome == llm_outcome::timed_out);
}

BOOST_FIXTURE_TEST_CASE(comments_and_drips_are_no_sign_of_life, one_gateway) {
  ask(1);
  head(begun[0], 200);
  delta(begun[0], "x");
  for (int i = 0; i < 7; ++i) {
    advance(20s);
    body(begun[0], ": still here\n\n");
    body(begun[0], "d");
  }
  BOOST_REQUIRE(stopped.size() == 1U);
  end(begun[0], exchange_end::cancelled);
  BOOST_TEST(ended.at(0).outcome == llm_outcome::timed_out);
  BOOST_TEST(ended[0].text == "x");
  BOOST_TEST(ended[0].error == "silent for idle_timeout (120 s)");
}

BOOST_FIXTURE_TEST_CASE(a_trickle_is_left_after_total_timeout, one_gateway) {
  ask(1);
  head(begun[0], 200);
  for (int i = 0; i < 20; ++i) {
    delta(begun[0], "x");
    advance(60s);
  }
  BOOST_TEST(stopped.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_finished_reply_does_not_wait_for_a_server_that_stays, one_gateway) {
  ask(1);
  head(begun[0], 200);
  delta(begun[0], "x");
  finish(begun[0]);
  advance(5s);
  BOOST_REQUIRE(stopped.size() == 1U);
  end(begun[0], exchange_end::cancelled);
  BOOST_TEST(ended.at(0).outcome == llm_outcome::replied);
}

BOOST_FIXTURE_TEST_CASE(a_transport_that_never_says_the_end_hangs_nobody, one_gateway) {
  ask(1);
  withdraw();
  BOOST_TEST(withdrawn.empty());
  advance(8s);
  BOOST_TEST(withdrawn.size() == 1U);
  BOOST_TEST(ended.at(0).outcome == llm_outcome::cancelled);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gateway_withdrawals)

BOOST_AUTO_TEST_CASE(a_withdrawal_is_answered_when_every_stream_is_closed) {
  auto config = chat_provider();
  config.concurrency = 2;
  one_gateway gateway{{config}};
  for (std::uint32_t worker = 1; worker <= 3; ++worker) {
    gateway.ask(worker);
  }
  gateway.withdraw();
  BOOST_TEST(gateway.stopped == gateway.begun, boost::test_tools::per_element());
  BOOST_TEST(gateway.ended.size() == 1U, "the queued one has no stream");
  gateway.end(gateway.begun[0], exchange_end::cancelled);
  BOOST_TEST(gateway.withdrawn.empty());
  gateway.end(gateway.begun[1], exchange_end::cancelled);
  BOOST_REQUIRE(gateway.withdrawn.size() == 1U);
  BOOST_TEST(gateway.withdrawn[0].answer.calls == 3U);
  for (const auto& x : gateway.ended) {
    BOOST_TEST(x.outcome == llm_outcome::cancelled);
  }
  BOOST_TEST(gateway.begun.size() == 2U, "nothing new goes out");
}

BOOST_FIXTURE_TEST_CASE(a_late_prompt_of_a_withdrawn_race_is_refused, one_gateway) {
  withdraw();
  BOOST_TEST(withdrawn.size() == 1U);
  const auto got = rules.on_prompt(ask_of(1), now);
  BOOST_REQUIRE(!got);
  BOOST_TEST((code_of(got.error()) == ec::refused));
}

BOOST_FIXTURE_TEST_CASE(one_workers_withdrawal_leaves_the_others_and_lets_it_ask_again, one_gateway) {
  ask(1);
  ask(2);
  withdraw("worker_01");
  BOOST_TEST(stopped == std::vector<std::uint64_t>{begun[0]}, boost::test_tools::per_element());
  end(begun[0], exchange_end::cancelled);
  BOOST_TEST(withdrawn.at(0).answer.calls == 1U);
  ask(1);
  BOOST_TEST(begun.size() == 3U);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_waits_out_a_back_off_is_withdrawn_at_once, one_gateway) {
  ask(1);
  refuse(begun[0], 500);
  withdraw();
  BOOST_TEST(withdrawn.size() == 1U);
  advance(60s);
  BOOST_TEST(begun.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gateway_other_kinds)

BOOST_AUTO_TEST_CASE(a_program_gets_system_and_user_and_its_failure_is_named) {
  provider_config config;
  config.name = "p";
  config.kind = provider_kind::command;
  config.argv = {"agent"};
  one_gateway gateway{{config}};
  auto ask = gateway.ask_of(1);
  ask.system = "sys";
  BOOST_REQUIRE(gateway.rules.on_prompt(ask, gateway.now));
  gateway.collect();
  BOOST_REQUIRE(gateway.programs.size() == 1U);
  BOOST_TEST(gateway.programs[0].spec.input == "sys\n\nuser");
  gateway.rules.on_program(program_output{gateway.programs[0].id, "partial"}, gateway.now);
  gateway.rules.on_program(program_ended{gateway.programs[0].id, program_end::exited, 3, "no luck"}, gateway.now);
  gateway.collect();
  BOOST_REQUIRE(gateway.ended.size() == 1U);
  BOOST_TEST(gateway.ended[0].outcome == llm_outcome::program_failed);
  BOOST_TEST(gateway.ended[0].text == "partial");
  BOOST_TEST(gateway.ended[0].error == "exit status 3: no luck");
}

BOOST_AUTO_TEST_CASE(a_replay_answers_in_order_and_says_whom_it_waits_for) {
  recording source;
  for (const auto& x : {recorded(1, "one"), recorded(2, "two")}) {
    source.replies.emplace(x.key, x);
  }
  one_gateway gateway{{replay_provider()}, {{"replayed", source}}};
  gateway.provider = "replayed";
  gateway.ask(2);
  BOOST_TEST(gateway.ended.empty());
  BOOST_TEST((gateway.progress.back().phase == prompt_phase::queued));
  BOOST_TEST(gateway.progress.back().note == "replay: the turn of worker 1, round 1");
  gateway.ask(1);
  BOOST_TEST(gateway.ended.at(0).text == "one");
  gateway.ask(1, 2);
  BOOST_TEST(gateway.ended.at(1).outcome == llm_outcome::recording_ended);
  gateway.advance(20ms);
  BOOST_TEST(gateway.ended.at(2).text == "two");
}

BOOST_AUTO_TEST_CASE(a_worker_that_asks_elsewhere_is_not_waited_for) {
  recording source;
  for (const auto& x : {recorded(1, "one"), recorded(2, "two")}) {
    source.replies.emplace(x.key, x);
  }
  one_gateway gateway{{replay_provider(), chat_provider()}, {{"replayed", source}}};
  gateway.provider = "replayed";
  gateway.ask(2);
  BOOST_TEST(gateway.ended.empty());
  gateway.provider = "p";
  gateway.ask(1);
  gateway.advance(20ms);
  BOOST_TEST(gateway.ended.at(0).text == "two");
}

BOOST_AUTO_TEST_CASE(a_withdrawn_worker_gives_its_turn_up) {
  recording source;
  auto stalled = recorded(1, "one");
  stalled.is_stalled = true;
  source.replies.emplace(stalled.key, stalled);
  source.replies.emplace(recorded(2, "two").key, recorded(2, "two"));
  one_gateway gateway{{replay_provider()}, {{"replayed", source}}};
  gateway.provider = "replayed";
  gateway.ask(1);
  gateway.withdraw("worker_01");
  BOOST_TEST(gateway.withdrawn.size() == 1U);
  BOOST_TEST(gateway.stopped.empty(), "there is no stream");
  gateway.ask(2);
  BOOST_TEST(gateway.ended.at(1).text == "two");
}

BOOST_AUTO_TEST_CASE(a_bad_recording_is_told_to_whoever_asks) {
  one_gateway gateway{{replay_provider()}, {{"replayed", fail(ec::invalid_config, "f:1: format: got nothing")}}};
  gateway.provider = "replayed";
  const auto got = gateway.rules.on_prompt(gateway.ask_of(1), gateway.now);
  BOOST_REQUIRE(!got);
  BOOST_TEST(describe(got.error()) == "invalid_config: f:1: format: got nothing");
}

BOOST_AUTO_TEST_SUITE_END()
