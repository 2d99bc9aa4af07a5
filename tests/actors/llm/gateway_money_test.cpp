// SPDX-License-Identifier: Apache-2.0
// What calls cost, and that no budget is passed.
#include "tests/actors/llm/booked_gateway.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace regatta;
using namespace std::chrono_literals;
using test::booked_gateway;
using test::chat_provider;
using test::whole_bound;

BOOST_AUTO_TEST_SUITE(gateway_money)

BOOST_FIXTURE_TEST_CASE(usage_above_the_reservation_is_booked_and_stops_the_provider, booked_gateway) {
  auto first = ask_of(1);
  first.budget.money = nano_per_unit;
  BOOST_REQUIRE(rules.on_prompt(first, now));
  collect();
  BOOST_TEST(opening(0).race_budget.money == nano_per_unit);
  opened(0, 1);
  answer_with_usage(begun.at(0), 10, 5'000);
  BOOST_TEST(closing(1).ended.cost == 10'000 + 10'000'000);
  closed(1);
  BOOST_TEST(ended.at(0).outcome == llm_outcome::replied, "it is paid");
  ask(2);
  BOOST_REQUIRE(ended.size() == 2U);
  BOOST_TEST(ended[1].outcome == llm_outcome::provider_stopped);
  BOOST_TEST(ended[1].error ==
             "p is stopped: it reported 5010 tokens for a call that could use 168 at most "
             "(r/worker_01/1.1), so no budget can be kept with it");
  BOOST_TEST(begun.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_money_budget_without_a_price_is_refused_by_name) {
  auto config = chat_provider();
  config.prices["other"] = {1, 1, 1};
  booked_gateway gateway{{config}};
  auto ask = gateway.ask_of(1);
  ask.choice.model = "m";
  ask.budget.money = 1;
  BOOST_REQUIRE(gateway.rules.on_prompt(ask, gateway.now));
  gateway.collect();
  BOOST_TEST(gateway.asked.empty());
  BOOST_REQUIRE(gateway.ended.size() == 1U);
  BOOST_TEST(gateway.ended[0].outcome == llm_outcome::provider_stopped);
  BOOST_TEST(gateway.ended[0].error ==
             "a money budget needs the prices of model \"m\": [providers.p.prices.\"m\"] is missing");
}

/// A ledger of one budget: reserves and settles as the store does.
struct frugal_gateway : booked_gateway {
  using booked_gateway::booked_gateway;

  void keep_books() {
    for (; read < asked.size(); ++read) {
      const auto what = asked[read].what;
      if (const auto* opening = std::get_if<open_call>(&what)) {
        reserve(read, opening->reserved);
      } else {
        const auto& closing = std::get<close_call>(what);
        open -= whole_bound;
        spent += closing.ended.cost;
        closed(read);
      }
      most = std::max(most, spent + open);
    }
  }
  void reserve(std::size_t i, nano_units amount) {
    if (spent + amount > limit) {
      ledger_says(i, ec::budget_spent, "race budget is spent");
    } else if (spent + open + amount > limit) {
      ledger_says(i, ec::refused, "reserved by calls in flight");
    } else {
      open += amount;
      opened(i, i + 1);
    }
  }

  nano_units limit = 5 * whole_bound;
  nano_units spent = 0;
  nano_units open = 0;
  nano_units most = 0;
  std::size_t read = 0;
};

BOOST_FIXTURE_TEST_CASE(g107_eight_parallel_calls_ten_times_never_pass_the_budget, frugal_gateway) {
  std::size_t answered = 0;
  const auto run = [&](std::chrono::milliseconds how_long) {
    for (auto passed = 0ms; passed < how_long; passed += 100ms) {
      keep_books();
      // Each costs what it had reserved, as a call of 0.2 out of 1 does.
      for (; answered < begun.size(); ++answered) {
        answer(begun[answered], "no usage");
      }
      keep_books();
      advance(100ms);
    }
  };
  for (std::uint32_t round = 1; round <= 10; ++round) {
    for (std::uint32_t worker = 1; worker <= 8; ++worker) {
      ask(worker, round);
    }
    run(3s);
  }
  BOOST_TEST(begun.size() == 5U, "what the budget has room for");
  BOOST_TEST(spent == limit);
  BOOST_TEST(most <= limit);
  BOOST_TEST(ended.size() == 80U);
  BOOST_TEST(std::count_if(ended.begin(), ended.end(),
                           [](const auto& x) { return x.outcome == llm_outcome::budget_exhausted; }) == 75);
}

BOOST_FIXTURE_TEST_CASE(calls_that_cost_less_than_reserved_leave_room_for_more, frugal_gateway) {
  for (std::uint32_t worker = 1; worker <= 20; ++worker) {
    ask(worker);
  }
  std::size_t answered = 0;
  for (int i = 0; i < 200; ++i) {
    keep_books();
    for (; answered < begun.size(); ++answered) {
      answer_with_usage(begun[answered], 1, 1);
    }
    advance(100ms);
  }
  BOOST_TEST(ended.size() == 20U);
  BOOST_TEST(begun.size() == 20U);
  BOOST_TEST(most <= limit);
}

BOOST_FIXTURE_TEST_CASE(usage_above_the_reservation_is_told_once_where_no_budget_is_set, booked_gateway) {
  for (std::uint32_t worker = 1; worker <= 2; ++worker) {
    ask(worker);
    opened(asked.size() - 1, worker);
    answer_with_usage(begun.back(), 10, 5'000);
    closed(asked.size() - 1);
  }
  BOOST_REQUIRE(ended.size() == 2U);
  BOOST_TEST(ended[0].outcome == llm_outcome::replied);
  BOOST_TEST(ended[0].cost == 10 * 1'000 + 5'000 * 2'000, "booked in full");
  BOOST_TEST(ended[0].warning ==
             "p is not to be trusted with a budget: it reported 5010 tokens for a call that could use 168 at most "
             "(r/worker_01/1.1), which is booked in full");
  BOOST_TEST(ended[1].cost == ended[0].cost);
  BOOST_TEST(ended[1].warning == "");
}

BOOST_FIXTURE_TEST_CASE(a_reply_without_usage_is_charged_at_its_bound, booked_gateway) {
  ask(1);
  opened(0, 1);
  answer(begun.at(0), "hi");
  BOOST_TEST(closing(1).ended.cost == whole_bound);
  BOOST_TEST(closing(1).ended.basis == charge_basis::reserved);
}

BOOST_AUTO_TEST_SUITE_END()
