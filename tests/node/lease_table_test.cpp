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
