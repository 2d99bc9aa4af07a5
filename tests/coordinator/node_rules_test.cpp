// SPDX-License-Identifier: Apache-2.0
#include "node/node_rules.hpp"

#include "messages/limits.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

struct one_node {
  spawn_worker job(std::uint32_t start = 1) const {
    spawn_worker out;
    out.race = race;
    out.spec.worker = w1;
    out.start = start;
    return out;
  }
  run work(std::uint32_t attempt = 1) const {
    run out;
    out.race = race;
    out.worker = w1;
    out.round = 1;
    out.attempt = attempt;
    out.code = "code";
    return out;
  }
  run_ended end_of(const run& x) const { return {x.race, x.worker, x.round, x.attempt, {}}; }
  template <class T>
  std::vector<T> effects() {
    std::vector<T> out;
    for (auto& x : rules.take_effects()) {
      if (auto* body = std::get_if<T>(&x)) {
        out.push_back(*body);
      }
    }
    return out;
  }

  const race_id race{"run_1"};
  const worker_id w1{"worker_01"};
  node_rules::time_point t0{};
  node_rules rules{node_id{"n1"}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(node_agent_rules, one_node)

BOOST_AUTO_TEST_CASE(the_same_start_twice_is_one_worker_and_an_older_one_is_refused) {
  BOOST_TEST((*rules.on_spawn(job(2)) == node_rules::spawn_answer::start_it));
  BOOST_TEST((*rules.on_spawn(job(2)) == node_rules::spawn_answer::has_it));
  BOOST_TEST(code_of(rules.on_spawn(job(1)).error()) == ec::not_current);
  BOOST_TEST(code_of(rules.on_spawn(job(3)).error()) == ec::already_exists);
  rules.on_worker_down(race, w1, false, "bug", t0);
  BOOST_TEST((*rules.on_spawn(job(3)) == node_rules::spawn_answer::start_it));
}

BOOST_AUTO_TEST_CASE(after_cancel_nothing_of_the_race_starts) {
  rules.on_cancel(race);
  BOOST_TEST(code_of(rules.on_spawn(job()).error()) == ec::refused);
  BOOST_TEST(code_of(rules.on_run(work())) == ec::refused);
}

BOOST_AUTO_TEST_CASE(candidates_are_signalled_before_workers_stop_and_quiet_comes_last) {
  BOOST_REQUIRE(rules.on_spawn(job()));
  BOOST_REQUIRE(!rules.on_run(work()));
  rules.on_cancel(race);
  auto first = rules.take_effects();
  BOOST_REQUIRE_EQUAL(first.size(), 2U);
  BOOST_TEST(std::holds_alternative<cancel_runs>(first[0]));
  BOOST_TEST(std::holds_alternative<stop_workers>(first[1]));
  rules.on_worker_down(race, w1, false, "exit", t0);
  auto second = rules.take_effects();
  BOOST_REQUIRE_EQUAL(second.size(), 1U);
  BOOST_TEST(std::get<worker_ended>(second[0]).end == worker_end::cancelled);
  rules.on_signalled(race, 1);
  auto third = rules.take_effects();
  BOOST_REQUIRE_EQUAL(third.size(), 1U);
  BOOST_TEST(std::get<cancelled>(third[0]).runs == 1U);
  BOOST_TEST(std::get<cancelled>(third[0]).workers == 1U);
  rules.on_run_ended(end_of(work()));
  BOOST_TEST(effects<node_quiet>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_cancel_asked_again_is_answered_again) {
  rules.on_cancel(race);
  rules.on_signalled(race, 0);
  BOOST_TEST(effects<cancelled>().size() == 1U);
  rules.on_cancel(race);
  const auto again = rules.take_effects();
  BOOST_REQUIRE_EQUAL(again.size(), 2U);
  BOOST_TEST(std::holds_alternative<cancelled>(again[0]));
  BOOST_TEST(std::holds_alternative<node_quiet>(again[1]));
}

BOOST_AUTO_TEST_CASE(a_crash_is_reported_when_its_candidate_is_gone) {
  BOOST_REQUIRE(rules.on_spawn(job()));
  BOOST_REQUIRE(!rules.on_run(work()));
  rules.on_worker_down(race, w1, false, "bug", t0);
  const auto first = rules.take_effects();
  BOOST_REQUIRE_EQUAL(first.size(), 1U);
  BOOST_TEST(std::get<cancel_runs>(first[0]).worker == w1);
  rules.on_run_ended(end_of(work()));
  const auto told = effects<worker_ended>();
  BOOST_REQUIRE_EQUAL(told.size(), 1U);
  BOOST_TEST(told[0].end == worker_end::crashed);
  BOOST_TEST(!rules.deadline().has_value());
}

BOOST_AUTO_TEST_CASE(a_crash_whose_candidate_will_not_go_is_reported_after_quiet_timeout) {
  BOOST_REQUIRE(rules.on_spawn(job()));
  BOOST_REQUIRE(!rules.on_run(work()));
  rules.on_worker_down(race, w1, false, "bug", t0);
  rules.on_wake(t0 + quiet_timeout - 1ns);
  BOOST_TEST(effects<worker_ended>().empty());
  rules.on_wake(t0 + quiet_timeout);
  BOOST_TEST(effects<worker_ended>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_lost_evaluator_ends_its_runs_and_nobody_claims_that_they_are_gone) {
  BOOST_REQUIRE(rules.on_spawn(job()));
  BOOST_REQUIRE(!rules.on_run(work()));
  rules.on_evaluator_lost("bug");
  const auto ended = effects<run_ended>();
  BOOST_REQUIRE_EQUAL(ended.size(), 1U);
  BOOST_TEST(ended[0].result.outcome == outcome::sandbox_failed);
  BOOST_TEST(ended[0].result.reason == "evaluator ended: bug");
  rules.on_cancel(race);
  rules.on_signalled(race, 0);
  rules.on_worker_down(race, w1, true, "", t0);
  BOOST_TEST(effects<node_quiet>().empty());
}

BOOST_AUTO_TEST_CASE(a_node_that_leaves_gives_its_workers_up_and_a_stopped_race_stays_stopped) {
  BOOST_REQUIRE(rules.on_spawn(job()));
  rules.on_shutdown();
  BOOST_TEST(code_of(rules.on_run(work())) == ec::link_down);
  BOOST_TEST(code_of(rules.on_spawn(job(2)).error()) == ec::refused);
  rules.on_signalled(race, 0);
  rules.on_worker_down(race, w1, false, "exit", t0);
  BOOST_TEST(effects<worker_ended>().at(0).end == worker_end::crashed);
  BOOST_TEST(rules.is_empty());
}

BOOST_AUTO_TEST_CASE(a_race_cancelled_while_its_node_leaves_is_cancelled) {
  BOOST_REQUIRE(rules.on_spawn(job()));
  rules.on_shutdown();
  rules.on_cancel(race);
  rules.on_signalled(race, 0);
  rules.on_worker_down(race, w1, false, "exit", t0);
  BOOST_TEST(effects<worker_ended>().at(0).end == worker_end::cancelled);
}

BOOST_AUTO_TEST_CASE(a_run_ends_once) {
  BOOST_REQUIRE(rules.on_spawn(job()));
  BOOST_REQUIRE(!rules.on_run(work()));
  rules.on_run_ended(end_of(work()));
  rules.on_run_ended(end_of(work()));
  rules.on_run_ended(end_of(work(7)));
  BOOST_TEST(effects<run_ended>().size() == 1U);
  BOOST_TEST(rules.is_open(key_of(work())) == false);
}

BOOST_AUTO_TEST_CASE(a_run_of_nobody_is_refused) {
  BOOST_TEST(code_of(rules.on_run(work())) == ec::unknown_worker);
}

BOOST_AUTO_TEST_SUITE_END()
