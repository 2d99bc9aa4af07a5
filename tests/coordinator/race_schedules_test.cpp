// SPDX-License-Identifier: Apache-2.0
// Races in random order of events: whatever comes first, there is one decision and one end.
#include "tests/support/printing.hpp"
#include "tests/support/race_house.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;

namespace {

/// A reply drawn from seed and key alone, so that a seed tells the whole story.
llm_answer drawn_reply(std::uint32_t seed, const prompt& x) {
  std::seed_seq mix{seed, x.round, x.attempt, static_cast<std::uint32_t>(std::hash<worker_id>{}(x.worker))};
  std::mt19937 draw{mix};
  static const std::vector<std::string> codes = {"x = 'fail'", "x = 'pass'",   "x = 'flaky'",
                                                 "x = 'hang'", "syntax_error", "y = 'pass'"};
  switch (draw() % 8) {
    case 0:
      return fails_with(llm_outcome::empty);
    case 1:
      return says("no code here");
    default:
      return says_code(codes[draw() % codes.size()] + "  # " + std::to_string(draw() % 3));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(race_schedules)

BOOST_AUTO_TEST_CASE(any_order_of_events_has_one_decision_and_one_end) {
  std::uint32_t won = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      race_house house{seed % 2 == 0 ? path::direct : path::codec, 1 + seed % 3};
      house.llm->answer = [=](const prompt& x) { return drawn_reply(seed, x); };
      auto spec = house.spec(1 + seed % 7);
      spec.deadline = 30s;
      caf::anon_send(house.coordinator, start_race{spec, {}});
      if (seed % 5 == 0) {
        house.run_shuffled(seed, seed);
        caf::anon_send(house.coordinator, stop_race{spec.race, "test"});
      }
      house.run_shuffled(seed);
      for (int i = 0; i < 60 && house.log->closed.empty(); ++i) {
        house.sched.advance_time(1s);
        house.run_shuffled(seed + static_cast<std::uint32_t>(i));
      }
      BOOST_REQUIRE_EQUAL(house.log->closed.size(), 1U);
      const auto ends = house.facts<race_ended>();
      BOOST_REQUIRE_EQUAL(ends.size(), 1U);
      const bool has_winner = ends[0].end == race_end::won;
      BOOST_TEST(house.facts<winner_decided>().size() == (has_winner ? 1U : 0U));
      BOOST_TEST(house.facts<worker_finished>().size() == spec.workers.size());
      BOOST_TEST(ends[0].unconfirmed_nodes.empty());
      for (std::size_t i = 0; i < house.log->events.size(); ++i) {
        BOOST_REQUIRE_EQUAL(house.log->events[i].seq, i + 1);
      }
      won += has_winner ? 1 : 0;
    }
  }
  BOOST_TEST(won > 50U);
  BOOST_TEST(won < 200U, "some seeds must end without a winner, or the test sees one story only");
}

BOOST_AUTO_TEST_SUITE_END()
