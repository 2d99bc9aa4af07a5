// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/timing_rules.hpp"

#include "sandbox/judge/memory_speed.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

using namespace regatta::judge;
using regatta::to_string;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double no_end = std::numeric_limits<double>::infinity();
const batch_plan plan{20, 5, 20};

/// Batches of calls of so many ms, beside 0.3 ms of everything else.
timed_pair pair_of(double reference_ms, double candidate_ms, double own_ms = -1) {
  const auto times = [](double ms, double own) {
    return side_times{0.3 + plan.few * ms, 0.3 + plan.many * ms, plan.few * own, plan.many * own};
  };
  return {times(reference_ms, reference_ms), times(candidate_ms, own_ms < 0 ? candidate_ms : own_ms)};
}

std::vector<timed_pair> pairs_of(std::size_t count, double reference_ms, double candidate_ms, double own_ms = -1) {
  return std::vector<timed_pair>(count, pair_of(reference_ms, candidate_ms, own_ms));
}

timing_report settled(const std::vector<timed_pair>& pairs, std::uint64_t bytes = 0, double bytes_per_s = 0) {
  timing_report out;
  out.facts.plan = plan;
  out.facts.size.input_bytes = bytes;
  out.facts.memory.bytes_per_s = bytes_per_s;
  settle_timing(out, pairs);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timing_rules)

BOOST_AUTO_TEST_CASE(what_is_in_both_batches_is_no_part_of_a_call) {
  const auto got = settled(pairs_of(7, 2, 0.5));
  BOOST_TEST(to_string(got.status) == "timed");
  BOOST_TEST(got.reference.median == 2, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(got.candidate.median == 0.5, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(got.speedup.median == 4, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(got.pairs == 7U);
  BOOST_TEST(got.flags.empty());
}

BOOST_AUTO_TEST_CASE(one_wild_pair_moves_no_median_and_many_are_called_noisy) {
  auto pairs = pairs_of(9, 2, 1);
  pairs[4] = pair_of(200, 1);
  const auto steady = settled(pairs);
  BOOST_TEST(steady.speedup.median == 2, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(!steady.has_flag("noisy"));
  for (std::size_t i = 0; i < 4; ++i) {
    pairs[i] = pair_of(4, 1);
  }
  BOOST_TEST(settled(pairs).has_flag("noisy"));
}

BOOST_AUTO_TEST_CASE(a_speedup_is_that_of_pairs_and_not_of_medians) {
  // Everything gets slower by the minute; each pair has seen the same minute.
  std::vector<timed_pair> pairs;
  for (int i = 1; i <= 7; ++i) {
    pairs.push_back(pair_of(3.0 * i, 1.0 * i));
  }
  const auto got = settled(pairs);
  BOOST_TEST(got.speedup.low == 3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(got.speedup.high == 3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(!got.has_flag("noisy"));
}

BOOST_AUTO_TEST_CASE(times_that_are_none_are_no_pairs_and_too_few_pairs_no_timing) {
  for (const double bad : {0.0, -1.0, no_number, no_end, -no_end}) {
    auto pairs = pairs_of(6, 2, 1);
    pairs[0] = pair_of(2, bad);
    pairs[1] = pair_of(bad, 1);
    const auto got = settled(pairs);
    BOOST_TEST(to_string(got.status) == "unsteady");
    BOOST_TEST(got.rejected_pairs == 2U);
    BOOST_TEST(got.speedup.median == 0);
    pairs.push_back(pair_of(2, 1));
    const auto enough = settled(pairs);
    BOOST_TEST(to_string(enough.status) == "timed");
    BOOST_TEST(std::isfinite(enough.speedup.median));
  }
}

BOOST_AUTO_TEST_CASE(a_time_that_no_call_can_take_is_rejected_whatever_is_known_of_the_device) {
  for (const double tiny : {1e-12, 1e-9, 5e-5}) {
    const auto got = settled(pairs_of(6, 2, tiny));
    BOOST_TEST(to_string(got.status) == "rejected");
    BOOST_TEST(got.has_flag("below_floor"));
    BOOST_TEST(!got.reason.empty());
  }
}

BOOST_AUTO_TEST_CASE(faster_than_memory_is_rejected_unless_the_reference_is_so_too) {
  constexpr std::uint64_t bytes = 1'000'000'000;
  constexpr double bytes_per_s = 1e12;  // 1 ms
  const auto impossible = settled(pairs_of(6, 2, 0.5), bytes, bytes_per_s);
  BOOST_TEST(to_string(impossible.status) == "rejected");
  BOOST_TEST(impossible.floor_ms == 1, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(to_string(settled(pairs_of(6, 2, 1.1), bytes, bytes_per_s).status) == "timed");
  // A gather, a view: not all of the inputs are read.
  BOOST_TEST(to_string(settled(pairs_of(6, 0.4, 0.2), bytes, bytes_per_s).status) == "timed");
}

BOOST_AUTO_TEST_CASE(what_fits_in_the_devices_cache_has_no_floor) {
  timing_report out;
  out.facts.plan = plan;
  out.facts.size.input_bytes = 1'000'000;
  out.facts.memory = {1e9, "nvml", 50'000'000};  // 1 ms, were it read from memory
  settle_timing(out, pairs_of(6, 2, 0.5));
  BOOST_TEST(to_string(out.status) == "timed");
  BOOST_TEST(out.has_flag("fits_in_cache"));
  BOOST_TEST(out.floor_ms == 0);
}

BOOST_AUTO_TEST_CASE(more_than_ten_times_as_fast_is_timed_and_flagged) {
  BOOST_TEST(settled(pairs_of(6, 22, 2)).has_flag("excessive_speedup"));
  BOOST_TEST(!settled(pairs_of(6, 18, 2)).has_flag("excessive_speedup"));
  BOOST_TEST(to_string(settled(pairs_of(6, 22, 2)).status) == "timed");
}

BOOST_AUTO_TEST_CASE(a_side_whose_own_clock_tells_another_story_is_flagged_and_the_judges_counts) {
  const auto lying = settled(pairs_of(6, 2, 1, 0.001));
  BOOST_TEST(lying.has_flag("clock_disagrees"));
  BOOST_TEST(lying.candidate.median == 1, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(!settled(pairs_of(6, 2, 1, 0.9)).has_flag("clock_disagrees"));
  // A busy machine: the comparator wakes late for both.
  auto late = pairs_of(6, 2, 1, 0.3);
  for (auto& x : late) {
    x.reference.own_few_ms *= 0.4;
    x.reference.own_many_ms *= 0.4;
  }
  BOOST_TEST(!settled(late).has_flag("clock_disagrees"));
  // Calls of microseconds: what the judge sees besides is wake-ups.
  BOOST_TEST(!settled(pairs_of(6, 0.02, 0.02, 0.005)).has_flag("clock_disagrees"));
  auto none = pairs_of(6, 2, 1);
  for (auto& x : none) {
    x.candidate.own_few_ms = x.candidate.own_many_ms = no_number;
  }
  BOOST_TEST(settled(none).has_flag("clock_disagrees"));
  BOOST_TEST(std::isfinite(settled(none).own_candidate_ms));
}

BOOST_AUTO_TEST_CASE(what_the_candidate_did_besides_is_said) {
  timing_report out;
  out.facts = {plan, {}, {}, true, true, true};
  settle_timing(out, pairs_of(6, 2, 1));
  for (const auto* flag : {"background_threads", "outputs_copied", "interpreted"}) {
    BOOST_TEST(out.has_flag(flag), flag);
  }
}

BOOST_AUTO_TEST_CASE(spreads_are_quartiles_and_deviations_from_the_median) {
  const auto got = spread_of({5, 1, 2, 4, 3});
  BOOST_TEST(got.median == 3);
  BOOST_TEST(got.low == 2);
  BOOST_TEST(got.high == 4);
  BOOST_TEST(got.mad == 1);
  BOOST_TEST(got.least == 1);
  BOOST_TEST(spread_of({7}).mad == 0);
}

BOOST_AUTO_TEST_CASE(batches_are_as_long_as_the_room_allows) {
  const timing_room wide;
  BOOST_TEST(plan_batches({}, wide, 1).many == 40U);
  BOOST_TEST(plan_batches({}, wide, 1).few == 10U);
  BOOST_TEST(plan_batches({}, wide, 500).many == 2U);
  BOOST_TEST(plan_batches({}, wide, 500).few == 1U);
  for (const double unknown : {0.0, -3.0, no_number, 1e-9}) {
    BOOST_TEST(plan_batches({}, wide, unknown).many == 256U);
  }
  // Two drawn sets (80), inputs and output of each call (60).
  const timing_room narrow{1000, 4000, 100};
  const auto few = plan_batches({40, 20, 1}, narrow, 0.1);
  BOOST_TEST(few.sets == 2U);
  BOOST_TEST(few.many == 15U);
  BOOST_TEST(plan_batches({400, 200, 1}, narrow, 0.1).many == 2U);
}

BOOST_AUTO_TEST_CASE(few_sets_are_drawn_and_what_cannot_be_altered_is_drawn_for_every_call) {
  const timing_room room{10'000, 40'000, 400};
  const auto altered = plan_batches({40, 20, 1}, room, 0.1);
  BOOST_TEST(altered.sets == 10U);
  BOOST_TEST(altered.many == 160U);
  BOOST_TEST(plan_batches({1, 1, 1}, room, 0.1).sets == 16U);
  BOOST_TEST(plan_batches({1, 1, 1}, room, 20).sets == 2U);
  const auto fixed = plan_batches({40, 20, 1, false}, room, 0.1);
  BOOST_TEST(fixed.sets == 100U);
  BOOST_TEST(fixed.many == 100U);
}

BOOST_AUTO_TEST_CASE(two_calls_must_have_room_and_heads_too) {
  const timing_room room{1000, 4000, 100};
  BOOST_TEST(has_room({600, 300, 1}, room));
  BOOST_TEST(!has_room({900, 300, 1}, room));
  BOOST_TEST(has_room({1, 0, 4096}, room));
  BOOST_TEST(!has_room({1, 0, 4097}, room));
  BOOST_TEST(plan_batches({1, 0, 4096, false}, room, 0.1).sets == 2U);
}

BOOST_AUTO_TEST_CASE(times_by_events_are_kernelbenchs_figures_or_none) {
  const auto got = event_times_of({1, 2, 3, 2});
  BOOST_REQUIRE(got);
  BOOST_TEST(got->mean == 2);
  BOOST_TEST(got->std == std::sqrt(0.5), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(got->least == 1);
  BOOST_TEST(got->most == 3);
  for (const double bad : {0.0, -1.0, no_number, no_end}) {
    BOOST_TEST(!event_times_of({1, bad, 2}));
  }
  BOOST_TEST(!event_times_of({}));
}

BOOST_AUTO_TEST_CASE(memory_of_this_host_has_a_speed) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{10'000}, std::uint64_t{1} << 30}) {
    BOOST_TEST(measured_memory_speed(bytes) > 1e6);
  }
}

BOOST_AUTO_TEST_SUITE_END()
