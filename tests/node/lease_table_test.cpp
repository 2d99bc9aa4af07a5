// SPDX-License-Identifier: Apache-2.0
#include "node/lease_table.hpp"

#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace {

using namespace regatta;
using namespace std::chrono_literals;

const lease::time_point start{};

}  // namespace

BOOST_AUTO_TEST_SUITE(lease_table_rules)

BOOST_AUTO_TEST_CASE(any_takes_a_gpu_where_there_is_one_and_a_cpu_slot_where_there_is_none) {
  BOOST_TEST((lease_table{4, 2}.kind_for(device_need::any) == slot_kind::gpu));
  BOOST_TEST((lease_table{4, 0}.kind_for(device_need::any) == slot_kind::cpu));
}

BOOST_AUTO_TEST_CASE(a_run_that_needs_a_gpu_never_gets_a_cpu_slot) {
  BOOST_TEST(!lease_table(4, 0).kind_for(device_need::gpu).has_value());
  BOOST_TEST((lease_table{4, 1}.kind_for(device_need::gpu) == slot_kind::gpu));
}

BOOST_AUTO_TEST_CASE(a_run_that_needs_a_cpu_never_takes_a_gpu) {
  BOOST_TEST((lease_table{4, 1}.kind_for(device_need::cpu) == slot_kind::cpu));
  BOOST_TEST(!lease_table(0, 1).kind_for(device_need::cpu).has_value());
}

BOOST_AUTO_TEST_CASE(a_slot_has_one_run_at_a_time) {
  lease_table table{2, 1};
  BOOST_TEST(table.acquire(slot_kind::cpu, 1, start + 1s)->slot == "cpu-0");
  BOOST_TEST(table.acquire(slot_kind::cpu, 2, start + 1s)->slot == "cpu-1");
  BOOST_TEST(!table.acquire(slot_kind::cpu, 3, start + 1s));
  BOOST_TEST(!table.has_free(slot_kind::cpu));
  BOOST_TEST(table.acquire(slot_kind::gpu, 4, start + 1s)->slot == "gpu-0");
  table.release(1);
  table.release(1);
  BOOST_TEST(table.acquire(slot_kind::cpu, 5, start + 1s)->slot == "cpu-0");
}

BOOST_AUTO_TEST_CASE(runs_spread_over_the_gpus_before_they_share_one) {
  lease_table table{0, 2, 2};
  std::vector<std::string> slots;
  for (run_number run = 1; run <= 4; ++run) {
    slots.push_back(table.acquire(slot_kind::gpu, run, start + 1s)->slot);
  }
  BOOST_TEST(slots == (std::vector<std::string>{"gpu-0.0", "gpu-1.0", "gpu-0.1", "gpu-1.1"}),
             boost::test_tools::per_element());
  BOOST_TEST(!table.has_free(slot_kind::gpu));
  table.release(2);
  BOOST_TEST(table.acquire(slot_kind::gpu, 5, start + 1s)->slot == "gpu-1.0");
}

BOOST_AUTO_TEST_CASE(an_exclusive_lease_waits_until_its_device_is_empty_and_nobody_joins_it) {
  lease_table table{0, 1, 2};
  BOOST_REQUIRE(table.acquire(slot_kind::gpu, 1, start + 1s));
  BOOST_TEST(!table.acquire(slot_kind::gpu, 2, start + 1s, sharing::exclusive));
  BOOST_TEST(!table.has_free(slot_kind::gpu));
  BOOST_TEST(!table.acquire(slot_kind::gpu, 3, start + 1s));
  table.release(1);
  BOOST_TEST(!table.acquire(slot_kind::gpu, 3, start + 1s));
  const auto alone = table.acquire(slot_kind::gpu, 2, start + 1s, sharing::exclusive);
  BOOST_REQUIRE(alone);
  BOOST_TEST(alone->is_exclusive);
  BOOST_TEST(!alone->had_company);
  BOOST_TEST(!table.has_free(slot_kind::gpu));
  table.release(2);
  BOOST_TEST(table.acquire(slot_kind::gpu, 3, start + 1s).has_value());
}

BOOST_AUTO_TEST_CASE(an_exclusive_lease_claims_one_gpu_and_leaves_the_other_to_the_rest) {
  lease_table table{0, 2, 2};
  BOOST_REQUIRE(table.acquire(slot_kind::gpu, 1, start + 1s));
  const auto alone = table.acquire(slot_kind::gpu, 2, start + 1s, sharing::exclusive);
  BOOST_REQUIRE(alone);
  BOOST_TEST(alone->device == 1U);
  BOOST_TEST(table.acquire(slot_kind::gpu, 3, start + 1s)->slot == "gpu-0.1");
  BOOST_TEST(!table.acquire(slot_kind::gpu, 4, start + 1s));
}

BOOST_AUTO_TEST_CASE(all_cpu_slots_together_are_one_device) {
  lease_table table{3, 0};
  BOOST_REQUIRE(table.acquire(slot_kind::cpu, 1, start + 1s));
  BOOST_TEST(!table.acquire(slot_kind::cpu, 2, start + 1s, sharing::exclusive));
  BOOST_TEST(!table.acquire(slot_kind::cpu, 3, start + 1s));
  table.release(1);
  BOOST_TEST(table.acquire(slot_kind::cpu, 2, start + 1s, sharing::exclusive)->slot == "cpu");
}

BOOST_AUTO_TEST_CASE(a_gpu_without_room_takes_one_run_and_no_more) {
  lease_table table{0, 1, 4};
  table.limit(0, 0);
  BOOST_TEST(table.acquire(slot_kind::gpu, 1, start + 1s).has_value());
  BOOST_TEST(!table.has_free(slot_kind::gpu));
  table.limit(0, 2);
  BOOST_TEST(table.acquire(slot_kind::gpu, 2, start + 1s)->had_company);
  BOOST_TEST(!table.acquire(slot_kind::gpu, 3, start + 1s));
}

BOOST_AUTO_TEST_CASE(a_lease_expires_at_its_time_and_keeps_its_slot_until_released) {
  lease_table table{1, 0};
  table.acquire(slot_kind::cpu, 7, start + 1s);
  BOOST_TEST(table.expired(start + 1s - 1ns).empty());
  BOOST_TEST(table.expired(start + 1s).size() == 1U);
  BOOST_TEST(!table.has_free(slot_kind::cpu));
  table.release(7);
  BOOST_TEST(table.has_free(slot_kind::cpu));
  BOOST_TEST(table.expired(start + 1h).empty());
}

BOOST_AUTO_TEST_SUITE_END()
