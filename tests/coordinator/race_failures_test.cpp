// SPDX-License-Identifier: Apache-2.0
// Each actor ended in turn, at every turn that it takes: the race has a named end, and nothing is left alive.
#include "tests/support/printing.hpp"
#include "tests/support/race_house.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;

namespace {

/// worker_01 passes in round 2, worker_02 hangs in the sandbox, worker_03 waits for it, worker_04 waits for the model.
llm_answer scripted_race(const prompt& x) {
  if (x.worker == make_worker_id(1)) {
    return says_code(x.round == 1 ? "x = 'fail'" : "x = 'pass'");
  }
  return x.worker == make_worker_id(4) ? holds() : says_code("x = 'hang'");
}

/// Starts that race and ends the named actor at its `nth` turn. False if it has no such turn.
bool race_without(race_house& house, std::string_view victim, std::uint32_t nth) {
  house.llm->answer = scripted_race;
  auto spec = house.spec(4);
  // worker_01 last, so that the others are at work when it passes.
  std::ranges::reverse(spec.workers);
  spec.deadline = 60s;
  caf::anon_send(house.coordinator, start_race{std::move(spec), {}});
  const bool was_ended = house.end_at_turn(victim, nth);
  house.sched.run();
  house.pass(90s);
  return was_ended;
}

std::uint32_t rounds_failed_before_second_start(const std::vector<event>& events) {
  std::uint32_t failed = 0;
  for (const auto& x : events) {
    const auto* started = std::get_if<worker_started>(&x.body);
    if (started != nullptr && started->start == 2) {
      break;
    }
    failed += std::holds_alternative<round_failed>(x.body) ? 1 : 0;
  }
  return failed;
}

const auto victims = boost::unit_test::data::make({"worker", "race", "node-session", "node-agent", "dedup-registry",
                                                   "scripted-llm", "fake-evaluator", "fake-checker", "fake-store"});

}  // namespace

BOOST_AUTO_TEST_SUITE(race_failures)

BOOST_DATA_TEST_CASE(an_actor_that_dies_at_any_turn_leaves_a_named_end_and_no_one_behind, victims, victim) {
  std::uint32_t turns = 0;
  for (std::uint32_t nth = 0; nth < 200; ++nth) {
    race_house house{path::direct};
    if (!race_without(house, victim, nth)) {
      break;
    }
    ++turns;
    BOOST_TEST_CONTEXT("turn " << nth) {
      BOOST_REQUIRE_EQUAL(house.log->closed.size(), 1U);
      BOOST_TEST(!house.log->closed[0].ended.reason.empty());
      // Without a checker its node's workers end, and only worker_01 could have won; all else is noticed at once.
      const bool may_wait = victim == std::string_view{"fake-checker"};
      BOOST_TEST((may_wait || house.log->closed[0].ended.end != race_end::deadline));
      BOOST_TEST(house.facts<race_ended>().size() <= 1U);
      BOOST_TEST(house.facts<winner_decided>().size() <= 1U);
      caf::anon_send_exit(house.coordinator, caf::exit_reason::user_shutdown);
      house.sched.run();
      house.pass(20s);
      const std::size_t store_gone = victim == std::string_view{"fake-store"} ? 1 : 0;
      BOOST_TEST(house.sys.registry().running() == 2U - store_gone);
    }
  }
  BOOST_TEST(turns > 0U, "nobody of this name took a turn");
}

BOOST_AUTO_TEST_CASE(a_crashed_worker_is_started_again_at_the_round_it_had_reached) {
  std::uint32_t crashes = 0;
  for (std::uint32_t nth = 0; nth < 60; ++nth) {
    race_house again{path::direct, 1};
    again.llm->answer = [](const prompt& x) {
      return says_code(x.round < 3 ? "fail = " + std::to_string(x.round) : "x = 'pass'");
    };
    caf::anon_send(again.coordinator, start_race{again.spec(1), {}});
    if (!again.end_at_turn("worker", nth)) {
      break;
    }
    again.sched.run();
    const auto ends = again.facts<race_ended>();
    BOOST_REQUIRE_EQUAL(ends.size(), 1U);
    BOOST_TEST(ends[0].end == race_end::won);
    const auto starts = again.facts<worker_started>();
    if (starts.size() == 2) {
      ++crashes;
      BOOST_TEST(again.facts<worker_finished>().at(0).end == worker_end::crashed);
      BOOST_TEST(starts[1].start == 2U);
      BOOST_TEST(starts[1].round == rounds_failed_before_second_start(again.log->events) + 1);
    }
  }
  BOOST_TEST(crashes > 10U);
}

BOOST_AUTO_TEST_CASE(a_worker_that_always_crashes_is_started_three_times) {
  race_house house{path::direct};
  house.llm->answer = [](const prompt&) { return holds(); };
  caf::anon_send(house.coordinator, start_race{house.spec(1), {}});
  for (std::uint32_t i = 0; i < worker_starts; ++i) {
    BOOST_REQUIRE(house.end_at_turn("worker", 0));
  }
  house.sched.run();
  BOOST_REQUIRE_EQUAL(house.log->closed.size(), 1U);
  BOOST_TEST(house.log->closed[0].ended.end == race_end::internal);
  BOOST_TEST(house.log->closed[0].ended.reason.find("worker_01: worker ended") == 0U);
  BOOST_TEST(house.facts<worker_finished>().size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_crashed_workers_candidate_does_not_outlive_it_and_its_waiter_may_run) {
  std::uint32_t holders_ended = 0;
  for (std::uint32_t nth = 0; nth < 2; ++nth) {
    race_house house{path::direct, 1};
    house.llm->answer = [](const prompt&) { return says_code("x = 'hang'"); };
    BOOST_REQUIRE(house.start(house.spec(2)));
    BOOST_REQUIRE_EQUAL(house.runs->asked.size(), 1U);
    const auto holder = house.runs->asked[0].worker;
    // Their next turns are the ticks that look at their deadlines.
    house.sched.advance_time(15s);
    BOOST_REQUIRE(house.end_at_turn("worker", nth));
    house.sched.run();
    if (house.facts<worker_finished>().at(0).worker == holder) {
      ++holders_ended;
      BOOST_REQUIRE_EQUAL(house.runs->cancels.size(), 1U);
      BOOST_TEST(house.runs->cancels[0].worker == holder);
      BOOST_TEST(house.runs->asked.back().worker != holder, "the one that waited is next");
    }
  }
  BOOST_TEST(holders_ended == 1U);
}

BOOST_AUTO_TEST_CASE(a_store_that_cannot_write_does_not_hold_the_end_back) {
  race_house house{path::direct};
  BOOST_REQUIRE(house.start(house.spec(1)));
  caf::anon_send_exit(house.store, caf::exit_reason::kill);
  house.sched.run();
  BOOST_REQUIRE_EQUAL(house.log->closed.size(), 1U);
  BOOST_TEST(house.log->closed[0].ended.end == race_end::internal);
  BOOST_TEST(house.log->closed[0].ended.reason.find("store ended") == 0U);
  BOOST_TEST(!house.log->closed[0].commit_failure.empty());
  auto next = house.spec(1);
  next.race = race_id{"run_2"};
  BOOST_TEST(code_of(house.start(next).error()) == ec::internal);
  house.store = house.sys.spawn(fake_store, 0U);  // The house counts two doubles.
}

BOOST_AUTO_TEST_CASE(a_dead_listener_does_not_disturb_the_race) {
  race_house house{path::direct};
  BOOST_REQUIRE(house.start(house.spec(1)));
  caf::anon_send_exit(house.sink, caf::exit_reason::kill);
  house.sched.run();
  house.tell(house.coordinator, stop_race{race_id{"run_1"}, "test"});
  BOOST_TEST(house.llm->withdrawn == 1U);
  house.sink = house.sys.spawn(recording_sink, house.log);  // The house counts two doubles.
}

BOOST_AUTO_TEST_CASE(an_exit_message_stops_every_race_and_then_everything) {
  race_house house{path::codec};
  house.llm->answer = scripted_race;
  auto spec = house.spec(4);
  spec.workers.erase(spec.workers.begin());
  BOOST_REQUIRE(house.start(spec));
  caf::anon_send_exit(house.coordinator, caf::exit_reason::user_shutdown);
  house.sched.run();
  BOOST_REQUIRE_EQUAL(house.log->closed.size(), 1U);
  BOOST_TEST(house.log->closed[0].ended.end == race_end::cancelled);
  BOOST_TEST(house.facts<race_cancelled>().at(0).why == "shutting down");
  BOOST_TEST(house.living() == 0U);
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_is_killed_takes_everything_with_it) {
  race_house house{path::codec};
  house.llm->answer = scripted_race;
  BOOST_REQUIRE(house.start(house.spec(4)));
  caf::anon_send_exit(house.coordinator, caf::exit_reason::kill);
  house.sched.run();
  house.pass(20s);
  BOOST_TEST(house.living() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
