// SPDX-License-Identifier: Apache-2.0
#include "node/run_queue.hpp"

#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <vector>

namespace {

using namespace regatta;

const race_id big{"big"};
const race_id small{"small"};

std::vector<run_number> drain(run_queue& queue) {
  std::vector<run_number> order;
  while (const auto next = queue.pop()) {
    order.push_back(*next);
  }
  return order;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_queue_rules)

BOOST_AUTO_TEST_CASE(an_empty_queue_has_nobody_next) {
  run_queue queue;
  BOOST_TEST(!queue.pop());
  BOOST_TEST(queue.positions().empty());
}

BOOST_AUTO_TEST_CASE(one_race_is_first_come_first_served) {
  run_queue queue;
  for (const run_number run : {3, 1, 2}) {
    queue.push(big, run);
  }
  BOOST_TEST(drain(queue) == (std::vector<run_number>{3, 1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_race_with_one_run_waits_for_at_most_one_of_a_race_with_a_thousand) {
  run_queue queue;
  for (run_number run = 1; run <= 1000; ++run) {
    queue.push(big, run);
  }
  queue.push(small, 5000);
  BOOST_TEST(*queue.pop() == 1U);
  BOOST_TEST(*queue.pop() == 5000U);
  BOOST_TEST(drain(queue).size() == 999U);
}

BOOST_AUTO_TEST_CASE(a_race_that_keeps_asking_does_not_jump_its_turn) {
  run_queue queue;
  for (const run_number run : {1, 2, 3}) {
    queue.push(big, run);
  }
  queue.push(small, 11);
  std::vector<run_number> order;
  run_number next_small = 12;
  while (const auto run = queue.pop()) {
    order.push_back(*run);
    if (*run > 10 && next_small < 15) {
      queue.push(small, next_small++);
    }
  }
  BOOST_TEST(order == (std::vector<run_number>{1, 11, 2, 12, 3, 13, 14}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(positions_are_the_order_in_which_runs_really_leave) {
  run_queue queue;
  for (const run_number run : {1, 2, 3, 4}) {
    queue.push(big, run);
  }
  queue.push(small, 11);
  queue.push(race_id{"third"}, 21);
  queue.push(race_id{"third"}, 22);
  std::map<run_number, std::uint32_t> ahead;
  for (const auto& [run, before] : queue.positions()) {
    ahead[run] = before;
  }
  const auto order = drain(queue);
  BOOST_TEST(ahead.size() == order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    BOOST_TEST(ahead.at(order[i]) == i);
  }
}

BOOST_AUTO_TEST_CASE(an_erased_run_never_leaves_and_an_emptied_race_loses_its_turn) {
  run_queue queue;
  queue.push(big, 1);
  queue.push(small, 2);
  BOOST_TEST(queue.erase(1));
  BOOST_TEST(!queue.erase(1));
  BOOST_TEST(!queue.erase(77));
  queue.push(big, 3);
  BOOST_TEST(drain(queue) == (std::vector<run_number>{2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
