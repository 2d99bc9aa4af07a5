// SPDX-License-Identifier: Apache-2.0
// A winner's timing on disk, and the reference's time as a baseline of later races.
#include "tests/actors/store/state_folder.hpp"
#include "tests/actors/store/store_fixture.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace regatta;
using namespace regatta::test;

namespace {

std::string record_of(double reference_ms, const std::string& device = "NVIDIA H200", const std::string& torch = "2.13.0") {
  return nlohmann::json{{"status", "timed"},
                        {"reason", ""},
                        {"device", device},
                        {"mode", "as_constructed"},
                        {"allow_tf32", false},
                        {"dtypes", {"float32"}},
                        {"reference", {{"torch", torch}}},
                        {"reference_ms", {{"median", reference_ms}}},
                        {"candidate_ms", {{"median", 0.5}}},
                        {"speedup", {{"median", reference_ms / 0.5}}},
                        {"flags", {"noisy"}}}
      .dump();
}

struct timed_folder : state_folder {
  /// A won race with this timing, all of it on disk; each a day after the one before.
  void race(const std::string& id, const std::string& timing, const std::string& not_timed = "") {
    auto race = won_race(id);
    auto& ended = std::get<race_ended>(race.events.back().body);
    ended.timing = timing;
    ended.not_timed = not_timed;
    for (auto& x : race.events) {
      x.at_us += 86'400'000'000 * ++day;
    }
    running_store store{state};
    store.tell(race);
    const auto answer = store.ask(commit{race.spec.race, race.events.back().seq});
    BOOST_REQUIRE_MESSAGE(answer, why(answer));
  }
  std::int64_t day = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(timings_on_disk, timed_folder)

BOOST_AUTO_TEST_CASE(a_timing_is_a_row_a_file_and_a_part_of_the_summary) {
  race("run_1", record_of(2));
  const auto got = load("run_1").timing;
  BOOST_TEST(got.status == "timed");
  BOOST_TEST(got.record == record_of(2));
  BOOST_TEST(got.baseline_ms == 0);
  BOOST_TEST(number("SELECT speedup FROM timings") == 4);
  const auto summary = nlohmann::json::parse(read_file(state + "/run_1/orchestrator/summary.json"));
  BOOST_TEST(summary["timing"]["status"] == "timed");
  BOOST_TEST(summary["not_timed"].is_null());
  BOOST_TEST(nlohmann::json::parse(read_file(state + "/run_1/orchestrator/winner/timing.json"))["device"] == "NVIDIA H200");
}

BOOST_AUTO_TEST_CASE(a_timing_that_was_not_done_says_why_and_is_no_baseline) {
  race("run_1", "", "stopped: SIGINT");
  const auto got = load("run_1").timing;
  BOOST_TEST(got.status == "not_done");
  BOOST_TEST(got.reason == "stopped: SIGINT");
  BOOST_TEST(number("SELECT count(*) FROM baselines") == 0);
  race("run_2", "");
  BOOST_TEST(load("run_2").timing.status == "");
  BOOST_TEST(load("run_2").timing.baseline_ms == 0);
}

BOOST_AUTO_TEST_CASE(field_failures_103_a_baseline_is_shown_where_device_torch_and_settings_are_the_same) {
  race("run_1", record_of(2));
  race("run_2", record_of(3, "NVIDIA H100"));
  race("run_3", record_of(4, "NVIDIA H200", "2.14.0"));
  race("run_4", record_of(5));
  BOOST_TEST(load("run_2").timing.baseline_ms == 0);
  BOOST_TEST(load("run_3").timing.baseline_ms == 0);
  const auto same = load("run_4").timing;
  BOOST_TEST(same.baseline_ms == 2);
  BOOST_TEST(same.baseline_race == race_id{"run_1"});
  BOOST_TEST(same.baseline_device == "NVIDIA H200");
  BOOST_TEST(same.baseline_us > 0);
  // Of each key the last one.
  BOOST_TEST(number("SELECT count(*) FROM baselines") == 3);
  BOOST_TEST(number("SELECT reference_ms FROM baselines WHERE device = 'NVIDIA H200' AND torch = '2.13.0'") == 5);
}

BOOST_AUTO_TEST_CASE(a_race_that_is_not_timed_still_hears_of_the_last_baseline_of_its_problem) {
  race("run_1", record_of(2));
  race("run_2", "");
  const auto got = load("run_2").timing;
  BOOST_TEST(got.status == "");
  BOOST_TEST(got.baseline_ms == 2);
}

BOOST_AUTO_TEST_CASE(field_failures_16_a_rejected_time_or_none_is_no_baseline) {
  auto broken = nlohmann::json::parse(record_of(2));
  broken["reference_ms"]["median"] = 0;
  broken["status"] = "unsteady";
  race("run_1", broken.dump());
  race("run_2", "no JSON at all");
  BOOST_TEST(number("SELECT count(*) FROM baselines") == 0);
  BOOST_TEST(load("run_1").timing.status == "unsteady");
  BOOST_TEST(load("run_2").race.end == "won");
}

BOOST_AUTO_TEST_SUITE_END()
