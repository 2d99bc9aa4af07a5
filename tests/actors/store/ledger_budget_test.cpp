// SPDX-License-Identifier: Apache-2.0
// A store, and budgets in it, that several processes share.
#include "actors/store_schema.hpp"
#include "tests/actors/store/child_process.hpp"
#include "tests/actors/store/ledger_bench.hpp"
#include "tests/actors/store/state_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace regatta;
using namespace regatta::test;

namespace {

constexpr nano_units day_limit = 3'000;

child_process spender(const std::string& state, const std::string& race, int seed, int races) {
  return child_process{"store_ledger_spender",
                       {state, race, std::to_string(day_limit), std::to_string(seed), std::to_string(races)}};
}

std::int64_t cost_told(const child_process& x) {
  std::istringstream words{x.said};
  std::string word;
  std::int64_t calls = 0;
  std::int64_t cost = 0;
  words >> word >> calls >> cost;
  BOOST_TEST(word == "spent", x.said);
  BOOST_TEST(calls > 0);
  return cost;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shared_budgets, state_folder)

BOOST_AUTO_TEST_CASE(a_new_store_may_be_opened_by_many_at_once) {
  constexpr int rounds = 25;
  constexpr int openers = 6;
  for (int round = 0; round < rounds; ++round) {
    const auto folder = state + "/new-" + std::to_string(round);
    std::vector<std::string> problems(openers);
    std::vector<std::thread> threads;
    for (auto& problem : problems) {
      threads.emplace_back([&folder, &problem] {
        const auto opened = open_store(folder);
        problem = opened ? "" : describe(opened.error());
      });
    }
    for (auto& each : threads) {
      each.join();
    }
    for (const auto& problem : problems) {
      BOOST_TEST(problem == "");
    }
  }
}

BOOST_AUTO_TEST_CASE(field_failures_107_two_processes_never_spend_more_than_the_day_allows_together) {
  auto first = spender(state, "run_a", 1, 2);
  auto second = spender(state, "run_b", 2, 2);
  BOOST_TEST(first.join() == 0, first.said);
  BOOST_TEST(second.join() == 0, second.said);
  const auto told = cost_told(first) + cost_told(second);
  BOOST_TEST(number("SELECT sum(cost) FROM budget_totals WHERE scope = 'day'") == told);
  BOOST_TEST(number("SELECT sum(cost) FROM llm_calls") == told);
  BOOST_TEST(number("SELECT sum(reserved) FROM budget_totals WHERE scope = 'day'") == 0);
  BOOST_TEST(told <= day_limit);
  BOOST_TEST(told > day_limit - 100, "and leave little of it");
}

BOOST_AUTO_TEST_CASE(a_killed_process_keeps_what_it_had_reserved_charged) {
  {
    auto killed = spender(state, "run_a", 1, 1);
    // Polled, as a killed program says nothing.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (std::chrono::steady_clock::now() < give_up &&
           (!std::filesystem::exists(state + "/regatta.db") ||
            database_number("SELECT count(*) FROM llm_calls WHERE closed_us IS NOT NULL") < 5)) {
      std::this_thread::yield();
    }
    killed.kill_hard();
    killed.join();
  }
  const auto open = number("SELECT sum(reserved) FROM llm_calls WHERE closed_us IS NULL");
  const auto closed = number("SELECT sum(cost) FROM llm_calls WHERE closed_us IS NOT NULL");
  auto next = spender(state, "run_b", 2, 2);
  BOOST_TEST(next.join() == 0, next.said);
  BOOST_TEST(number("SELECT sum(cost) FROM budget_totals WHERE scope = 'day'") == closed + open + cost_told(next));
  BOOST_TEST(number("SELECT sum(cost) FROM llm_calls WHERE outcome = 'lost_in_flight'") == open);
  BOOST_TEST(closed + open + cost_told(next) <= day_limit);
}

BOOST_AUTO_TEST_SUITE_END()
