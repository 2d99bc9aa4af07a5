// SPDX-License-Identifier: Apache-2.0
#include "node/timing_codec.hpp"
#include "node/timing_watch.hpp"

#include "node/evaluator.hpp"
#include "node/nvml_clocks.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

std::string fake_driver() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_nvml.so").string();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timing_surroundings_rules)

BOOST_AUTO_TEST_CASE(busy_ticks_are_all_but_idle_and_waiting) {
  const auto got = parse_cpu_ticks("cpu  100 5 20 1000 50 1 2 3 90 0\ncpu0 1 2 3");
  BOOST_REQUIRE(got);
  BOOST_TEST(got->busy == 131U);
  BOOST_TEST(got->all == 1181U);
  for (const auto* bad : {"", "cpu", "cpu  1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu  a b c d e f g h"}) {
    BOOST_TEST(!parse_cpu_ticks(bad).has_value(), bad);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_ours_is_others) {
  // 10 s of four CPUs, of which 12 s were used.
  const cpu_ticks before{1000, 8000}, after{1000 + 1200, 8000 + 4000};
  BOOST_TEST(*other_cpu_share(before, after, 12s) == 0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(*other_cpu_share(before, after, 8s) == 0.1, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(*other_cpu_share(before, after, 30s) == 0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(!other_cpu_share(before, before, 0s).has_value());
  BOOST_TEST(!other_cpu_share({}, after, 0s).has_value());
}

BOOST_AUTO_TEST_CASE(company_and_held_back_clocks_are_flagged) {
  timing_surroundings quiet;
  quiet.other_cpu = 0.02;
  quiet.gpu = gpu_activity{20, 1900, 1980, 60, 0x1, 2, 0};
  BOOST_TEST(flags_of(quiet).empty());
  auto shared = quiet;
  shared.other_cpu = 0.3;
  BOOST_TEST(flags_of(shared) == std::vector<std::string>{"contention"}, boost::test_tools::per_element());
  shared = quiet;
  shared.gpu->most_processes = 3;
  BOOST_TEST(flags_of(shared) == std::vector<std::string>{"contention"}, boost::test_tools::per_element());
  shared = quiet;
  shared.gpu->busy_before = 40;
  BOOST_TEST(flags_of(shared) == std::vector<std::string>{"contention"}, boost::test_tools::per_element());
  auto hot = quiet;
  hot.gpu->reasons = 0x1 | 0x20;
  BOOST_TEST(flags_of(hot) == std::vector<std::string>{"throttled"}, boost::test_tools::per_element());
  BOOST_TEST(throttle_names(0x4 | 0x2 | 0x80) == (std::vector<std::string>{"power_cap", "power_brake"}),
             boost::test_tools::per_element());
  // Nothing known is nothing said.
  BOOST_TEST(flags_of({}).empty());
}

BOOST_AUTO_TEST_CASE(a_gpu_is_sampled_through_nvml_under_old_and_new_names) {
  const auto idle = nvml_clocks::open(fake_driver(), "GPU-aaaa");
  BOOST_REQUIRE(idle);
  BOOST_TEST(idle->sample()->processes == 0U);
  const auto busy = nvml_clocks::open(fake_driver(), "GPU-bbbb");
  BOOST_REQUIRE(busy);
  const auto got = *busy->sample();
  BOOST_TEST(got.sm_mhz == 1200U);
  BOOST_TEST(got.temperature == 81U);
  BOOST_TEST(got.busy == 90U);
  BOOST_TEST(got.processes == 3U);
  BOOST_TEST(got.reasons == 4U);
  BOOST_TEST(!nvml_clocks::open(fake_driver(), "nothing").has_value());
  BOOST_TEST(!nvml_clocks::open("/no/such/library.so", "GPU-aaaa").has_value());
}

BOOST_AUTO_TEST_CASE(a_watch_names_the_device_with_or_without_a_driver) {
  timing_watch cpu{nullptr};
  BOOST_TEST(!cpu.end(0s).device.empty());
  gpu device;
  device.uuid = "GPU-aaaa";
  device.name = "NVIDIA H200";
  timing_watch none{&device, "/no/such/library.so"};
  const auto got = none.end(0s);
  BOOST_TEST(got.device == "NVIDIA H200");
  BOOST_TEST(!got.gpu.has_value());
}

BOOST_AUTO_TEST_CASE(a_record_is_the_comparators_timing_with_whose_it_is_and_what_was_around) {
  run what;
  what.digest = source_digest{"abc"};
  timing_surroundings around;
  around.device = "NVIDIA H200";
  around.gpu = gpu_activity{3, 900, 1980, 88, 0x4, 2, 0};
  const auto got = timing_record_of(
      R"({"judge_version":2,"engine":"cuda-sm_90","problem_sha256":"p","timing":{"status":"timed","flags":["noisy"]}})", what,
      around);
  for (const auto* part : {R"("status":"timed")", R"("flags":["noisy","throttled"])", R"("candidate_sha256":"abc")",
                           R"("device":"NVIDIA H200")", R"("problem_sha256":"p")", R"("throttle":["power_cap"])"}) {
    BOOST_TEST(has(got, part), got);
  }
  for (const auto* bad : {"", "{", "[]", R"({"timing":3})", R"({"judgement":"correct"})"}) {
    BOOST_TEST(timing_record_of(bad, what, around).empty(), bad);
  }
}

BOOST_AUTO_TEST_SUITE_END()
