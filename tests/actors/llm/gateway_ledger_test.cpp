// SPDX-License-Identifier: Apache-2.0
// The gateway and its ledger: what is asked, in which order, and what each answer leads to.
#include "tests/actors/llm/gateway_fixture.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace regatta;
using namespace std::chrono_literals;
using test::chat_provider;

namespace {

provider_config priced_provider() {
  auto x = chat_provider();
  x.max_output_tokens = 100;
  x.prices["*"] = {1'000'000'000, 1'000'000'000, 2'000'000'000};
  return x;
}

/// The ledger is played by hand.
struct booked_gateway : test::one_gateway {
  explicit booked_gateway(std::vector<provider_config> providers = {priced_provider()})
      : one_gateway{std::move(providers), {}, {true, {}, {}, 1}} {}

  const open_call& opening(std::size_t i) const { return std::get<open_call>(asked.at(i).what); }
  const close_call& closing(std::size_t i) const { return std::get<close_call>(asked.at(i).what); }
  void opened(std::size_t i, std::uint64_t row) {
    call_opened answer;
    answer.call = row;
    rules.on_opened(asked.at(i).id, answer, now);
    collect();
  }
  void closed(std::size_t i) {
    rules.on_closed(asked.at(i).id, now);
    collect();
  }
  void ledger_says(std::size_t i, ec code, const std::string& text) {
    rules.on_ledger_error(asked.at(i).id, fail(code, text), now);
    collect();
  }
  void usage(exchange_id id, int input, int output) {
    body(id, R"(data: {"choices":[],"usage":{"prompt_tokens":)" + std::to_string(input) + R"(,"completion_tokens":)" +
                 std::to_string(output) + "}}\n\ndata: [DONE]\n\n");
  }
  void answer_with_usage(exchange_id id, int input, int output) {
    head(id, 200);
    delta(id, "hi");
    finish(id);
    usage(id, input, output);
    end(id);
  }
};

/// "user", the overhead and the cap at one and two nano-units.
constexpr nano_units whole_bound = (4 + 64) * 1'000 + 100 * 2'000;

}  // namespace

BOOST_AUTO_TEST_SUITE(gateway_ledger)

BOOST_FIXTURE_TEST_CASE(a_call_goes_out_when_it_is_booked_and_is_told_when_its_end_is, booked_gateway) {
  ask(1);
  BOOST_TEST(begun.empty());
  BOOST_REQUIRE(asked.size() == 1U);
  BOOST_TEST(opening(0).reserved == whole_bound);
  BOOST_TEST(opening(0).reserved_tokens == 168U);
  BOOST_TEST(opening(0).choice.max_output_tokens == 100U);
  BOOST_TEST(opening(0).try_number == 1U);
  BOOST_TEST(opening(0).wire == "chat");
  BOOST_TEST(opening(0).prompt_digest.size() == 64U);
  BOOST_TEST(opening(0).price_digest.size() == 64U);
  opened(0, 7);
  BOOST_REQUIRE(begun.size() == 1U);
  answer_with_usage(begun[0], 10, 20);
  BOOST_TEST(ended.empty());
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_TEST(closing(1).call == 7U);
  BOOST_TEST(closing(1).is_answer);
  BOOST_TEST(closing(1).ended.text == "hi");
  BOOST_TEST(closing(1).ended.cost == 10'000 + 40'000);
  BOOST_TEST(closing(1).ended.basis == charge_basis::usage);
  closed(1);
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].text == "hi");
  BOOST_TEST(ended[0].cost == 50'000);
  BOOST_TEST(ended[0].charged_tokens == 30U);
  BOOST_TEST(!rules.has_work());
}

BOOST_FIXTURE_TEST_CASE(each_try_is_a_row_and_the_worker_hears_the_sum, booked_gateway) {
  ask(1);
  opened(0, 1);
  refuse(begun[0], 500);
  BOOST_TEST(!closing(1).is_answer);
  BOOST_TEST(closing(1).ended.cost == whole_bound);
  advance(2s);
  BOOST_TEST(asked.size() == 2U, "the next try waits for the last one's row");
  closed(1);
  advance(2s);
  BOOST_REQUIRE(asked.size() == 3U);
  BOOST_TEST(opening(2).try_number == 2U);
  opened(2, 2);
  refuse(begun[1], 429, {{"retry-after", "1"}});
  BOOST_TEST(closing(3).ended.cost == 0);
  closed(3);
  advance(1s);
  opened(4, 3);
  answer_with_usage(begun[2], 1, 1);
  closed(5);
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].cost == whole_bound + 3'000);
  BOOST_TEST(ended[0].basis == charge_basis::reserved);
  BOOST_TEST(ended[0].charged_tokens == 168U + 2U);
  BOOST_TEST(ended[0].tries == 3U);
}

BOOST_FIXTURE_TEST_CASE(what_a_former_process_has_paid_for_is_not_asked_again, booked_gateway) {
  ask(1);
  call_opened answer;
  answer.known.emplace();
  answer.known->outcome = llm_outcome::replied;
  answer.known->text = "paid";
  answer.known->cost = 5;
  rules.on_opened(asked[0].id, answer, now);
  collect();
  BOOST_TEST(begun.empty());
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].text == "paid");
  BOOST_TEST(ended[0].is_known);
  BOOST_TEST(ended[0].cost == 5);
  BOOST_TEST((ended[0].worker == make_worker_id(1)));
  ask(1);
  BOOST_TEST(ended.size() == 2U, "the same question again");
  BOOST_TEST(asked.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(what_was_lost_in_flight_is_in_the_sum, booked_gateway) {
  ask(1);
  call_opened answer;
  answer.call = 9;
  answer.lost_in_flight = 1;
  answer.lost_cost = whole_bound;
  rules.on_opened(asked[0].id, answer, now);
  collect();
  answer_with_usage(begun.at(0), 1, 1);
  closed(1);
  BOOST_TEST(closing(1).ended.cost == 3'000, "the row of this try knows nothing of the lost one");
  BOOST_TEST(ended.at(0).cost == whole_bound + 3'000);
  BOOST_TEST(ended[0].lost_in_flight == 1U);
  BOOST_TEST(ended[0].basis == charge_basis::reserved);
}

BOOST_FIXTURE_TEST_CASE(a_full_store_holds_the_call_visibly_and_loses_nothing, booked_gateway) {
  ask(1);
  ledger_says(0, ec::store_full, "no room");
  BOOST_TEST((progress.back().phase == prompt_phase::throttled));
  BOOST_TEST(progress.back().note == "the store is full: no room");
  BOOST_TEST(progress.back().until_us == now.utc_us + 1'000'000);
  advance(980ms);
  BOOST_TEST(asked.size() == 1U);
  advance(20ms);
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_TEST(opening(1).try_number == 1U);
  opened(1, 1);
  answer_with_usage(begun.at(0), 1, 1);
  for (std::size_t i = 2; i < 100; ++i) {
    ledger_says(i, ec::store_full, "no room");
    BOOST_TEST(ended.empty());
    advance(1s);
    BOOST_REQUIRE(asked.size() == i + 2);
  }
  closed(100);
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].text == "hi");
}

BOOST_FIXTURE_TEST_CASE(no_answer_in_time_is_asked_again_by_the_same_row, booked_gateway) {
  ask(1);
  rules.on_ledger_error(asked[0].id, caf::sec::request_timeout, now);
  advance(20ms);
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_TEST(asked[1].id == asked[0].id);
  BOOST_TEST(opening(1).try_number == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_failing_store_fails_the_call_after_a_minute, booked_gateway) {
  ask(1);
  for (std::size_t i = 0; i < 60; ++i) {
    ledger_says(i, ec::store_failed, "disk I/O error");
    BOOST_TEST(ended.empty());
    advance(1s);
  }
  ledger_says(60, ec::store_failed, "disk I/O error");
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].outcome == llm_outcome::transport_failed);
  BOOST_TEST(ended[0].error == "the ledger fails: disk I/O error");
  BOOST_TEST(!rules.has_work());
}

BOOST_FIXTURE_TEST_CASE(a_spent_budget_ends_the_call_before_it_goes_out, booked_gateway) {
  ask(1);
  ledger_says(0, ec::budget_spent, "race budget 1.00: 0.99 spent, 0.02 asked");
  BOOST_TEST(begun.empty());
  BOOST_REQUIRE(ended.size() == 1U);
  BOOST_TEST(ended[0].outcome == llm_outcome::budget_exhausted);
  BOOST_TEST(ended[0].error == "race budget 1.00: 0.99 spent, 0.02 asked");
  BOOST_TEST(ended[0].cost == 0);
}

BOOST_FIXTURE_TEST_CASE(a_reservation_that_waits_for_others_is_asked_again_when_one_is_settled, booked_gateway) {
  ask(1);
  ask(2);
  opened(0, 1);
  ledger_says(1, ec::refused, "0.01 is reserved by open calls");
  BOOST_TEST((progress.back().phase == prompt_phase::throttled));
  BOOST_TEST(progress.back().note == "0.01 is reserved by open calls");
  answer_with_usage(begun.at(0), 1, 1);
  advance(100ms);
  BOOST_TEST(asked.size() == 3U);
  closed(2);
  advance(20ms);
  BOOST_REQUIRE(asked.size() == 4U);
  BOOST_TEST((opening(3).worker == make_worker_id(2)));
  ledger_says(3, ec::refused, "x");
  advance(1s);
  BOOST_TEST(asked.size() == 5U, "and at latest every second");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gateway_ledger_withdrawals)

BOOST_FIXTURE_TEST_CASE(a_withdrawal_while_opening_waits_for_nobody_and_closes_the_row_later, booked_gateway) {
  ask(1);
  withdraw();
  BOOST_TEST(withdrawn.size() == 1U);
  BOOST_TEST(ended.at(0).outcome == llm_outcome::cancelled);
  BOOST_TEST(rules.has_work(), "the row may be there");
  opened(0, 4);
  BOOST_TEST(begun.empty());
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_TEST(closing(1).call == 4U);
  BOOST_TEST(closing(1).ended.cost == 0);
  BOOST_TEST(closing(1).ended.outcome == llm_outcome::cancelled);
  closed(1);
  BOOST_TEST(!rules.has_work());
  BOOST_TEST(ended.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_withdrawn_stream_is_charged_as_soon_as_it_is_closed, booked_gateway) {
  ask(1);
  opened(0, 4);
  head(begun.at(0), 200);
  delta(begun[0], "half");
  withdraw();
  BOOST_TEST(withdrawn.empty());
  end(begun[0], exchange_end::cancelled);
  BOOST_TEST(withdrawn.size() == 1U, "it does not wait for the ledger");
  BOOST_TEST(ended.at(0).cost == whole_bound);
  BOOST_TEST(ended[0].outcome == llm_outcome::cancelled);
  BOOST_TEST(closing(1).ended.cost == whole_bound);
  ledger_says(1, ec::store_full, "no room");
  advance(1s);
  BOOST_REQUIRE(asked.size() == 3U);
  closed(2);
  BOOST_TEST(!rules.has_work());
}

BOOST_FIXTURE_TEST_CASE(a_withdrawal_while_closing_keeps_the_paid_reply_on_disk, booked_gateway) {
  ask(1);
  opened(0, 4);
  answer_with_usage(begun.at(0), 1, 1);
  withdraw();
  BOOST_TEST(withdrawn.size() == 1U);
  BOOST_TEST(ended.at(0).outcome == llm_outcome::cancelled);
  BOOST_TEST(ended[0].cost == 3'000);
  BOOST_TEST(closing(1).ended.outcome == llm_outcome::replied);
  rules.on_ledger_error(asked[1].id, caf::sec::request_timeout, now);
  advance(20ms);
  BOOST_TEST(closing(2).ended.text == "hi");
  closed(2);
  BOOST_TEST(!rules.has_work());
  BOOST_TEST(ended.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_asks_again_after_its_withdrawal_is_a_new_try, booked_gateway) {
  ask(1);
  opened(0, 1);
  withdraw("worker_01");
  end(begun.at(0), exchange_end::cancelled);
  ask(1);
  BOOST_TEST(opening(2).try_number == 2U);
  ask(1, 2);
  BOOST_TEST(opening(3).try_number == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

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

BOOST_FIXTURE_TEST_CASE(a_reply_without_usage_is_charged_at_its_bound, booked_gateway) {
  ask(1);
  opened(0, 1);
  answer(begun.at(0), "hi");
  BOOST_TEST(closing(1).ended.cost == whole_bound);
  BOOST_TEST(closing(1).ended.basis == charge_basis::reserved);
}

BOOST_AUTO_TEST_SUITE_END()
