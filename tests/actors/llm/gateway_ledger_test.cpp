// SPDX-License-Identifier: Apache-2.0
// The gateway and its ledger: what is asked, in which order, and what each answer leads to.
#include "tests/actors/llm/booked_gateway.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace regatta;
using namespace std::chrono_literals;
using test::booked_gateway;
using test::whole_bound;

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
  BOOST_TEST(progress.back().until_us == 0, "it is asked again each second, and nobody knows how often");
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
