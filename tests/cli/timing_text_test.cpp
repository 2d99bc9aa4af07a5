// SPDX-License-Identifier: Apache-2.0
#include "cli/timing_codec.hpp"
#include "tests/cli/has.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace regatta::cli;

namespace {

constexpr const char* timed = R"({"status":"timed","reason":"","speedup":{"median":1.9312,"low":1.88,"high":1.97},
  "candidate_ms":{"median":0.4121},"reference_ms":{"median":0.7951},"pairs":15,"device":"NVIDIA H200","engine":"cuda-sm_90",
  "flags":["noisy","contention"],"kernelbench":{"timing_method":"cuda_event","candidate_ms":{"mean":0.4,"std":0.003},
  "reference_ms":{"mean":0.78,"std":0.01}}})";

}  // namespace

BOOST_AUTO_TEST_SUITE(timing_for_people)

BOOST_AUTO_TEST_CASE(result_kernelbench_flags_and_baseline_have_a_line_each) {
  timing_row row;
  row.status = "timed";
  row.record = timed;
  row.baseline_ms = 0.8;
  row.baseline_device = "NVIDIA H200";
  row.baseline_us = 1'764'000'000'000'000;
  row.baseline_race = race_id{"run_0"};
  const auto got = timing_lines(row);
  BOOST_REQUIRE_EQUAL(got.size(), 4U);
  BOOST_TEST(got[0] == "1.931 times the reference's speed (quartiles 1.88 to 1.97): 0.4121 ms beside 0.7951 ms, medians of 15 "
                       "pairs, NVIDIA H200 (cuda-sm_90)");
  BOOST_TEST(got[1] == "by KernelBench's cuda_event: 0.4 ms ± 0.003 beside 0.78 ms ± 0.01");
  BOOST_TEST(got[2] == "flags: noisy, contention");
  BOOST_TEST(got[3].starts_with("baseline of the reference: 0.8 ms, measured on 2025-11-2"), got[3]);
  BOOST_TEST(has(got[3], "in run_0, NVIDIA H200"));
}

BOOST_AUTO_TEST_CASE(what_was_not_done_or_is_rejected_says_so_first) {
  timing_row stopped;
  stopped.reason = "stopped: SIGINT";
  BOOST_TEST(timing_lines(stopped) == std::vector<std::string>{"not done: stopped: SIGINT"}, boost::test_tools::per_element());
  timing_row rejected;
  rejected.record = R"({"status":"rejected","reason":"faster than memory","flags":["below_floor"]})";
  const auto got = timing_lines(rejected);
  BOOST_TEST(got.at(0).starts_with("rejected: faster than memory ("), got.at(0));
  BOOST_TEST(!has(got.at(0), "speed ("));
}

BOOST_AUTO_TEST_CASE(nothing_asked_for_is_nothing_said) {
  BOOST_TEST(timing_lines({}).empty());
  BOOST_TEST(timing_json({}) == "null");
}

BOOST_AUTO_TEST_CASE(a_record_may_hold_anything) {
  for (const auto* record : {"", "{", "[]", "3", R"({"status":7,"speedup":[],"pairs":-1,"flags":{}})",
                             R"({"status":"timed","device":"\u001b[31mred\u0007"})"}) {
    timing_row row;
    row.status = "timed";
    row.record = record;
    for (const auto& line : timing_lines(row)) {
      BOOST_TEST(!has(line, "\x1b"), line);
    }
    BOOST_TEST(!timing_json(row).empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()
