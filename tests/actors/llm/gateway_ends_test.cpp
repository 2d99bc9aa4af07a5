// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/llm/gateway_fixture.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace regatta;
using namespace std::chrono_literals;
using test::chat_provider;
using test::one_gateway;

namespace {

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
  // The folder is none that its user knows.
  BOOST_REQUIRE(gateway.rules.on_prompt(gateway.ask_of(2), gateway.now));
  gateway.collect();
  const std::string words = "sh: 0: cannot open model.sh: No such file";
  gateway.rules.on_program(program_ended{gateway.programs[1].id, program_end::exited, 2, words}, gateway.now);
  gateway.collect();
  BOOST_REQUIRE(gateway.ended.size() == 2U);
  BOOST_TEST(gateway.ended[1].error ==
             "exit status 2: " + words + " (it runs in a fresh folder: name its files by absolute paths)");
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

BOOST_AUTO_TEST_CASE(a_recorded_failure_is_played_once) {
  recording source;
  auto failed = recorded(1, "");
  failed.deltas.clear();
  failed.error = llm_outcome::overloaded;
  source.replies.emplace(failed.key, failed);
  one_gateway gateway{{replay_provider()}, {{"replayed", source}}};
  gateway.provider = "replayed";
  gateway.ask(1);
  gateway.advance(60s);
  BOOST_REQUIRE(gateway.ended.size() == 1U);
  BOOST_TEST(gateway.ended[0].outcome == llm_outcome::overloaded);
  BOOST_TEST(gateway.ended[0].tries == 1U);
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
