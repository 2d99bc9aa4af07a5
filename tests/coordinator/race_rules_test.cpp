// SPDX-License-Identifier: Apache-2.0
#include "coordinator/race_rules.hpp"

#include "messages/limits.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

struct one_race {
  static race_rules_config config() {
    race_rules_config out;
    out.spec.race = race_id{"run_1"};
    out.spec.workers = {{worker_id{"worker_01"}, 1, 0, {}, {}}, {worker_id{"worker_02"}, 2, 1, {}, {}}};
    out.nodes = {node_id{"n1"}, node_id{"n2"}};
    out.wall_clock_us = [] { return std::int64_t{7}; };
    return out;
  }
  one_race() { rules.begin(t0); }

  winner passed(const worker_id& who) const {
    winner out{race, who, 2, 1, source_digest{"d"}, "code", {}};
    out.result.outcome = outcome::exited;
    out.result.claim = claim::run_tests;
    return out;
  }
  template <class T>
  std::vector<T> facts() {
    for (auto& x : rules.take_effects()) {
      seen.push_back(std::move(x));
    }
    std::vector<T> out;
    for (const auto& x : seen) {
      const auto* e = std::get_if<event>(&x);
      if (const auto* body = e == nullptr ? nullptr : std::get_if<T>(&e->body)) {
        out.push_back(*body);
      }
    }
    return out;
  }

  const race_id race{"run_1"};
  const worker_id w1{"worker_01"};
  const worker_id w2{"worker_02"};
  race_rules::time_point t0{};
  race_rules rules{config()};
  std::vector<race_effect> seen;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(race, one_race)

BOOST_AUTO_TEST_CASE(workers_are_spread_over_the_nodes_in_turn) {
  std::vector<std::string> nodes;
  for (const auto& x : rules.take_effects()) {
    if (const auto* order = std::get_if<node_order>(&x)) {
      nodes.push_back(order->node.text + " " + std::get<spawn_worker>(order->body).spec.worker.text);
    }
  }
  BOOST_TEST(nodes == (std::vector<std::string>{"n1 worker_01", "n2 worker_02"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_three_times_run_from_the_decision) {
  rules.on_winner(passed(w1), t0 + 5s);
  rules.on_cancelled(node_id{"n1"}, {race, node_id{"n1"}, 1, 1}, t0 + 5s + 2ms);
  rules.on_cancelled(node_id{"n2"}, {race, node_id{"n2"}, 2, 0}, t0 + 5s + 3ms);
  rules.on_withdrawn({}, 4, t0 + 5s + 4ms);
  rules.on_node_quiet({race, node_id{"n2"}}, t0 + 5s + 20ms);
  BOOST_TEST(facts<race_ended>().empty());
  rules.on_node_quiet({race, node_id{"n1"}}, t0 + 5s + 30ms);
  const auto end = facts<race_ended>().at(0);
  BOOST_TEST(end.decided.count() == 5'000'000);
  BOOST_TEST(end.cancelled.count() == 3'000);
  BOOST_TEST(end.quiet.count() == 30'000);
  BOOST_TEST(end.elapsed.count() == 5'030'000);
  BOOST_TEST(end.reason == "pass via run_tests at iter 2");
  const auto stopped = facts<race_cancelled>().at(0);
  BOOST_TEST(stopped.runs == 3U);
  BOOST_TEST(stopped.prompts == 4U);
}

BOOST_AUTO_TEST_CASE(a_candidate_that_the_rule_does_not_accept_wins_nothing) {
  auto lie = passed(w1);
  lie.result.claim = claim::none;
  rules.on_winner(lie, t0);
  rules.on_winner(passed(worker_id{"stranger"}), t0);
  BOOST_TEST(rules.is_running());
}

BOOST_AUTO_TEST_CASE(right_by_a_weak_oracle_ends_the_race_without_a_winner) {
  auto weak = config();
  weak.spec.accept = accept_rule::verified;
  auto right = passed(w1);
  right.result.judgement = judgement::weak_oracle;
  // Only where the look at the problem found it so: a node's word alone does not end a race.
  rules = race_rules{weak};
  rules.begin(t0);
  rules.on_winner(right, t0);
  BOOST_TEST(rules.is_running());
  weak.spec.judging.is_weak = true;
  rules = race_rules{weak};
  rules.begin(t0);
  rules.on_winner(right, t0);
  BOOST_TEST(!rules.is_running());
  rules.on_winner(passed(w2), t0);
  for (const auto* node : {"n1", "n2"}) {
    rules.on_cancelled(node_id{node}, {}, t0);
    rules.on_node_quiet({race, node_id{node}}, t0);
  }
  rules.on_withdrawn({}, 0, t0);
  BOOST_TEST(facts<winner_decided>().empty());
  const auto end = facts<race_ended>().at(0);
  BOOST_TEST(end.end == race_end::weak_oracle);
  BOOST_TEST(end.winner.empty());
  BOOST_TEST(end.unproven == w1);
  BOOST_TEST(end.unproven_round == 2U);
}

BOOST_AUTO_TEST_CASE(the_second_pass_is_a_runner_up_once) {
  rules.on_winner(passed(w1), t0);
  rules.on_winner(passed(w2), t0);
  rules.on_winner(passed(w2), t0);
  rules.on_winner(passed(w1), t0);
  BOOST_TEST(facts<winner_decided>().size() == 1U);
  BOOST_TEST(facts<runner_up>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_node_that_stays_busy_is_named_when_the_time_is_over) {
  rules.on_winner(passed(w1), t0);
  rules.on_cancelled(node_id{"n1"}, {}, t0);
  rules.on_cancelled(node_id{"n2"}, {}, t0);
  rules.on_withdrawn({}, 0, t0);
  rules.on_node_quiet({race, node_id{"n1"}}, t0);
  rules.on_wake(t0 + quiet_timeout - 1ns);
  BOOST_TEST(facts<race_ended>().empty());
  rules.on_wake(t0 + quiet_timeout);
  const auto end = facts<race_ended>().at(0);
  BOOST_REQUIRE_EQUAL(end.unconfirmed_nodes.size(), 1U);
  BOOST_TEST(end.unconfirmed_nodes[0] == node_id{"n2"});
  BOOST_TEST(end.end == race_end::won);
}

BOOST_AUTO_TEST_CASE(a_restart_waits_until_the_former_starts_call_is_closed) {
  rules.on_spawned(std::get<spawn_worker>(std::get<node_order>(rules.take_effects().at(1)).body), caf::none, t0);
  rules.on_worker_ended({race, w1, 1, worker_end::crashed, "bug"}, t0);
  const auto has_spawn = [](const std::vector<race_effect>& xs) {
    return std::ranges::any_of(xs, [](const race_effect& x) { return std::holds_alternative<node_order>(x); });
  };
  BOOST_TEST(!has_spawn(rules.take_effects()));
  rules.on_withdrawn(w1, 1, t0);
  BOOST_TEST(has_spawn(rules.take_effects()));
  rules.on_worker_ended({race, w1, 1, worker_end::crashed, "late word of the first start"}, t0);
  BOOST_TEST(rules.take_effects().empty());
}

BOOST_AUTO_TEST_CASE(the_last_node_lost_ends_the_race_and_names_it) {
  rules.on_node_lost(node_id{"n1"}, "gone", t0);
  rules.on_withdrawn(w1, 0, t0);
  rules.on_node_lost(node_id{"n2"}, "gone", t0);
  rules.on_withdrawn({}, 0, t0);
  const auto end = facts<race_ended>().at(0);
  BOOST_TEST(end.end == race_end::internal);
  BOOST_TEST(end.reason.find("node n2 is lost: gone") != std::string::npos);
  BOOST_TEST(end.unconfirmed_nodes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_worker_speaks_only_of_itself_and_only_its_own_kinds) {
  rules.on_report({race, w1, 1, worker_moved{w2, 1, worker_phase::ended, ""}});
  rules.on_report({race, w1, 1, race_ended{}});
  rules.on_report({race, w1, 2, worker_moved{w1, 1, worker_phase::ended, ""}});
  BOOST_TEST(facts<worker_moved>().empty());
  BOOST_TEST(facts<race_ended>().empty());
}

BOOST_AUTO_TEST_CASE(the_cost_of_a_withdrawn_call_counts_although_the_gateways_answer_came_first) {
  BOOST_REQUIRE(!rules.on_prompt({race, w1, 1, 1, {}, "", "", 0, {}}));
  rules.on_winner(passed(w2), t0);
  for (const auto* id : {"n1", "n2"}) {
    rules.on_cancelled(node_id{id}, {}, t0);
    rules.on_node_quiet({race, node_id{id}}, t0);
  }
  rules.on_withdrawn({}, 1, t0);
  BOOST_TEST(facts<race_ended>().empty());
  prompt_ended end;
  end.race = race;
  end.worker = w1;
  end.round = 1;
  end.attempt = 1;
  end.outcome = llm_outcome::cancelled;
  end.cost = 5;
  rules.on_prompt_ended(end, t0);
  BOOST_TEST(facts<race_ended>().at(0).cost == 5);
}

BOOST_AUTO_TEST_CASE(a_worker_that_starts_again_does_not_hear_how_its_former_call_was_withdrawn) {
  BOOST_REQUIRE(!rules.on_prompt({race, w1, 1, 1, {}, "", "", 0, {}}));
  rules.on_worker_ended({race, w1, 1, worker_end::crashed, "bug"}, t0);
  rules.on_withdrawn(w1, 1, t0);
  prompt_ended end;
  end.race = race;
  end.worker = w1;
  end.round = 1;
  end.attempt = 1;
  end.outcome = llm_outcome::cancelled;
  rules.take_effects();
  rules.on_prompt_ended(end, t0);
  const auto effects = rules.take_effects();
  BOOST_REQUIRE_EQUAL(effects.size(), 1U);
  BOOST_TEST(std::holds_alternative<event>(effects[0]));
}

BOOST_AUTO_TEST_SUITE_END()
