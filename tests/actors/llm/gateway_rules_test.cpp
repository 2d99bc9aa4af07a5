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
  BOOST_TEST(!rules.has_work());
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

BOOST_FIXTURE_TEST_CASE(a_key_that_comes_back_as_the_reply_is_told_and_kept_nowhere, one_gateway) {
  ask(1);
  head(begun[0], 200);
  std::string told;
  for (const auto* piece : {"sk-secret: ", "yours is s", "k-sec", "ret, so", " be it"}) {
    delta(begun[0], piece);
    advance(40ms);
  }
  finish(begun[0]);
  end(begun[0]);
  for (const auto& x : deltas) {
    told += x;
  }
  const std::string expected = "[redacted]: yours is [redacted], so be it";
  BOOST_TEST(told == expected);
  BOOST_TEST(deltas == (std::vector<std::string>{"[redacted]: ", "yours is ", "[redacted], so", " be it"}),
             boost::test_tools::per_element());
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].text == expected);
  // Cut in the middle of it, and where the server chooses the words.
  ask(2);
  head(begun[1], 200);
  body(begun[1], R"(data: {"id":"sk-secret","choices":[{"delta":{"content":"it is sk-secre"},"finish_reason":"length"}]})"
                 "\n\n");
  end(begun[1]);
  BOOST_REQUIRE(ended.size() == 2U);
  BOOST_TEST(ended[1].text == "it is [redacted]");
  BOOST_TEST(ended[1].response_id == "[redacted]");
  BOOST_TEST(deltas.back() == "[redacted]");
}

BOOST_AUTO_TEST_SUITE_END()
