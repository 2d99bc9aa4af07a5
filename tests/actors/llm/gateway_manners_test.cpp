// SPDX-License-Identifier: Apache-2.0
// How the gateway treats a provider that is busy, down or gone, with many callers at once.
#include "tests/actors/llm/gateway_fixture.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <vector>

using namespace regatta;
using namespace std::chrono_literals;
using test::chat_provider;
using test::one_gateway;

namespace {

/// Answers whatever goes out, at once and always in the same way.
struct crowd : one_gateway {
  using one_gateway::one_gateway;

  template <class Answer>
  void serve(Answer answer_one, std::chrono::milliseconds how_long) {
    for (auto passed = 0ms; passed < how_long; passed += 100ms) {
      while (served < begun.size()) {
        answer_one(begun[served++]);
      }
      advance(100ms);
    }
  }
  void ask_all(std::uint32_t workers) {
    for (std::uint32_t worker = 1; worker <= workers; ++worker) {
      ask(worker);
    }
  }
  std::size_t served = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(gateway_rates)

BOOST_AUTO_TEST_CASE(requests_per_minute_hold_in_every_minute_and_are_seen) {
  auto config = chat_provider();
  config.requests_per_minute = 10;
  crowd gateway{{config}};
  const auto start = gateway.now;
  std::vector<std::chrono::milliseconds> times;
  gateway.ask_all(35);
  BOOST_TEST(gateway.begun.size() == 10U);
  BOOST_TEST((gateway.progress.back().phase == prompt_phase::throttled));
  BOOST_TEST(gateway.progress.back().note == "our own limit per minute");
  BOOST_TEST(gateway.progress.back().until_us == gateway.now.utc_us + 60'000'000);
  gateway.serve(
      [&](exchange_id id) {
        times.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(gateway.now.at - start.at));
        gateway.answer(id, "x");
      },
      200s);
  BOOST_TEST(gateway.ended.size() == 35U);
  for (std::size_t i = 10; i < times.size(); ++i) {
    BOOST_TEST((times[i] - times[i - 10] >= 59s), i);
  }
}

BOOST_AUTO_TEST_CASE(tokens_per_minute_count_prompt_and_output_cap) {
  auto config = chat_provider();
  config.max_output_tokens = 432;
  config.tokens_per_minute = 1'000;
  one_gateway gateway{{config}};
  for (std::uint32_t worker = 1; worker <= 4; ++worker) {
    gateway.ask(worker);
  }
  BOOST_TEST(gateway.begun.size() == 2U, "500 each: the prompt's four bytes, the overhead, the cap");
  gateway.advance(59s);
  BOOST_TEST(gateway.begun.size() == 2U);
  gateway.advance(1s);
  BOOST_TEST(gateway.begun.size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_call_larger_than_the_limit_goes_out_alone) {
  auto config = chat_provider();
  config.tokens_per_minute = 100;
  one_gateway gateway{{config}};
  gateway.ask(1);
  gateway.ask(2);
  BOOST_TEST(gateway.begun.size() == 1U);
  gateway.advance(60s);
  BOOST_TEST(gateway.begun.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_good_answer_that_says_nothing_is_left_holds_the_next_call, one_gateway) {
  ask(1);
  head(begun[0], 200, {{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "6s"}});
  ask(2);
  BOOST_TEST(begun.size() == 1U);
  BOOST_TEST((progress.back().phase == prompt_phase::throttled));
  BOOST_TEST(progress.back().until_us == now.utc_us + 6'000'000);
  ask(3);
  advance(6s);
  BOOST_TEST(begun.size() == 3U, "nothing is wrong, so no probe is needed");
}

BOOST_FIXTURE_TEST_CASE(an_end_of_waiting_is_still_to_come_and_moves_only_by_much, one_gateway) {
  ask(1);
  refuse(begun[0], 429, {{"retry-after", "8"}});
  std::set<std::int64_t> told;
  std::size_t seen = 0;
  for (int i = 0; i < 300; ++i) {
    for (; seen < progress.size(); ++seen) {
      const auto& x = progress[seen];
      if (x.phase == prompt_phase::throttled && x.until_us != 0) {
        BOOST_TEST(x.until_us > now.utc_us);
        told.insert(x.until_us);
      }
    }
    if (begun.size() == 2U && i < 100) {
      // Near to what was told, which is over by now.
      refuse(begun[1], 429, {{"retry-after", "9"}});
    } else {
      advance(100ms);
    }
  }
  BOOST_TEST(told.size() == 2U, "once for each wait");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gateway_outages)

BOOST_FIXTURE_TEST_CASE(g104_a_429_with_retry_after_30_for_two_minutes_uses_no_attempt_up_for_anybody, crowd) {
  ask_all(50);
  const auto until = now.at + 2min;
  serve([&](exchange_id id) { now.at < until ? refuse(id, 429, {{"retry-after", "30"}}) : answer(id, "x"); }, 3min);
  BOOST_TEST(ended.size() == 50U);
  for (const auto& x : ended) {
    BOOST_TEST(x.outcome == llm_outcome::replied);
  }
  BOOST_TEST(begun.size() <= 50U + 50U + 5U, "one wave and one probe for each 30 s");
}

BOOST_FIXTURE_TEST_CASE(a_server_that_was_there_and_is_gone_is_probed_by_one_call_and_waited_for, crowd) {
  ask(1);
  answer(begun[0], "x");
  served = 1;
  ask_all(200);
  serve([&](exchange_id id) { end(id, exchange_end::connect_failed); }, 10min);
  BOOST_TEST(begun.size() <= 1U + 64U + 20U, "64 were on their way; then one at a time");
  BOOST_TEST(ended.size() == 2U, "the first one, and the same question again");
  BOOST_TEST((progress.back().phase == prompt_phase::throttled));
  BOOST_TEST(progress.back().note.starts_with("p is down: no connection, "));
  BOOST_TEST(progress.back().note.find("probing again in ") != std::string::npos);
  serve([&](exchange_id id) { answer(id, "back"); }, 2min);
  BOOST_TEST(ended.size() == 201U);
  for (const auto& x : ended) {
    BOOST_TEST(x.outcome == llm_outcome::replied);
  }
}

BOOST_FIXTURE_TEST_CASE(a_server_that_never_answered_is_given_up_after_as_many_failures_as_tries, crowd) {
  ask_all(200);
  serve([&](exchange_id id) { end(id, exchange_end::connect_failed); }, 2min);
  BOOST_TEST(begun.size() <= 64U + 5U);
  BOOST_TEST(ended.size() == 200U);
  for (const auto& x : ended) {
    BOOST_TEST(x.outcome == llm_outcome::transport_failed);
    BOOST_TEST(!x.error.empty());
  }
}

BOOST_AUTO_TEST_CASE(an_outage_is_waited_out_no_longer_than_down_patience) {
  auto config = chat_provider();
  config.down_patience = 5min;
  crowd gateway{{config}};
  gateway.ask(1);
  gateway.answer(gateway.begun[0], "x");
  gateway.served = 1;
  gateway.ask(2);
  gateway.ask(3);
  const auto down = [&](exchange_id id) { gateway.refuse(id, 503); };
  gateway.serve(down, 290s);
  BOOST_TEST(gateway.ended.size() == 1U);
  gateway.serve(down, 90s);
  BOOST_REQUIRE(gateway.ended.size() == 3U);
  BOOST_TEST(gateway.ended[2].error.find("p is down: 503") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_storm_of_500_ends_in_single_probes, crowd) {
  ask(1);
  answer(begun[0], "x");
  served = 1;
  ask_all(200);
  serve([&](exchange_id id) { refuse(id, 500); }, 5min);
  BOOST_TEST(begun.size() <= 64U * 3 + 80U);
  BOOST_TEST((progress.back().phase == prompt_phase::throttled));
}

BOOST_AUTO_TEST_CASE(g106_no_wait_is_longer_than_the_cap_and_each_one_says_until_when) {
  auto config = chat_provider();
  config.tries = 100;
  one_gateway gateway{{config}};
  gateway.ask(1);
  for (int i = 0; i < 20; ++i) {
    gateway.refuse(gateway.begun.back(), 502);
    BOOST_TEST((gateway.progress.back().phase == prompt_phase::throttled));
    BOOST_TEST(gateway.progress.back().until_us > gateway.now.utc_us);
    BOOST_TEST(gateway.progress.back().until_us <= gateway.now.utc_us + 60'000'000);
    gateway.advance(61s);
    BOOST_TEST(gateway.begun.size() == static_cast<std::size_t>(i) + 2);
  }
}

BOOST_FIXTURE_TEST_CASE(g110_words_of_a_reply_are_never_taken_for_an_error, one_gateway) {
  ask(1);
  answer(begun[0], "rate limit exceeded, 429, insufficient_quota, context_length_exceeded");
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].outcome == llm_outcome::replied);
}

BOOST_AUTO_TEST_CASE(g109_a_server_without_a_key_and_with_an_odd_model_name_is_asked) {
  auto config = chat_provider();
  config.api_key.clear();
  one_gateway gateway{{config}};
  auto ask = gateway.ask_of(1);
  ask.choice.model = "./models/odd name:Q4_K_M.gguf";
  BOOST_REQUIRE(gateway.rules.on_prompt(ask, gateway.now));
  gateway.collect();
  BOOST_REQUIRE(gateway.requests.size() == 1U);
  for (const auto& [name, value] : gateway.requests[0].headers) {
    BOOST_TEST(name != "Authorization");
  }
  BOOST_TEST(gateway.requests[0].body.find("./models/odd name:Q4_K_M.gguf") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gateway_gone_models)

BOOST_FIXTURE_TEST_CASE(a_refused_key_is_asked_once_a_minute_and_not_by_every_worker, crowd) {
  ask(1);
  refuse(begun[0], 401);
  ask_all(100);
  BOOST_TEST(begun.size() == 1U);
  BOOST_TEST(ended.size() == 101U);
  BOOST_TEST(ended.back().outcome == llm_outcome::unauthorized);
  BOOST_TEST(ended.back().error.ends_with("(asked 0 s ago, not asked again)"));
  BOOST_TEST(ended.back().tries == 0U);
  advance(60s);
  ask(1, 2);
  ask(2, 2);
  BOOST_TEST(begun.size() == 2U, "one is let through");
  answer(begun[1], "x");
  ask(3, 2);
  BOOST_TEST(begun.size() == 3U);
}

BOOST_FIXTURE_TEST_CASE(an_unknown_model_leaves_the_providers_others_alone, one_gateway) {
  const auto ask_for = [&](std::uint32_t worker, const std::string& model) {
    auto x = ask_of(worker);
    x.choice.model = model;
    BOOST_REQUIRE(rules.on_prompt(x, now));
    collect();
  };
  ask_for(1, "gone");
  refuse(begun[0], 404);
  ask_for(2, "gone");
  BOOST_TEST(begun.size() == 1U);
  BOOST_TEST(ended.at(1).outcome == llm_outcome::bad_request);
  ask_for(3, "there");
  BOOST_TEST(begun.size() == 2U);
  answer(begun[1], "x");
  ask_for(4, "gone");
  BOOST_TEST(begun.size() == 2U, "another model's success says nothing of it");
}

BOOST_FIXTURE_TEST_CASE(a_probe_that_is_withdrawn_lets_another_one_through, one_gateway) {
  ask(1);
  refuse(begun[0], 403);
  advance(60s);
  ask(2);
  withdraw("worker_02");
  end(begun.at(1), exchange_end::cancelled);
  ask(3);
  BOOST_TEST(begun.size() == 3U);
}

BOOST_AUTO_TEST_SUITE_END()
