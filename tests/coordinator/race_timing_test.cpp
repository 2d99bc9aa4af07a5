// SPDX-License-Identifier: Apache-2.0
// The timing of a winner: it begins when nothing else runs, never undoes the win, and leaves nothing behind.
#include "coordinator/race_rules.hpp"
#include "messages/limits.hpp"
#include "node/node_rules.hpp"
#include "tests/support/printing.hpp"
#include "tests/support/race_house.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;

namespace {

struct timed_race {
  explicit timed_race(bool wants_timing = true) : rules{config(wants_timing)} { rules.begin(t0); }

  static race_rules_config config(bool wants_timing) {
    race_rules_config out;
    out.spec.race = race_id{"run_1"};
    out.spec.workers = {{worker_id{"worker_01"}, 1, 0, {}, {}}, {worker_id{"worker_02"}, 2, 1, {}, {}}};
    out.spec.accept = accept_rule::verified;
    out.spec.judging.wants_timing = wants_timing;
    out.spec.problem.text = "class Model: pass";
    out.nodes = {n1, n2};
    out.wall_clock_us = [] { return std::int64_t{7}; };
    return out;
  }

  winner passed() const {
    winner out{race, w1, 2, 3, source_digest{"d"}, "code", {}};
    out.result.outcome = outcome::exited;
    out.result.judgement = judgement::correct;
    return out;
  }
  void win(race_rules::time_point now) {
    rules.on_winner(passed(), now);
    rules.on_withdrawn({}, 0, now);
    for (const auto& node : {n1, n2}) {
      rules.on_cancelled(node, {race, node, 0, 1}, now);
    }
  }
  void quieten(race_rules::time_point now) {
    rules.on_node_quiet({race, n2}, now);
    rules.on_node_quiet({race, n1}, now);
  }
  run_ended timed(outcome how, const std::string& record = "") const {
    run_ended out{race, w1, 2, 3, {}};
    out.result.outcome = how;
    out.result.timing_record = record;
    return out;
  }
  template <class Body>
  std::vector<std::pair<node_id, Body>> orders() {
    std::vector<std::pair<node_id, Body>> out;
    for (auto& x : rules.take_effects()) {
      if (const auto* over = std::get_if<race_over>(&x)) {
        ended = over->ended;
      }
      const auto* order = std::get_if<node_order>(&x);
      if (const auto* body = order == nullptr ? nullptr : std::get_if<Body>(&order->body)) {
        out.emplace_back(order->node, *body);
      }
    }
    return out;
  }
  race_ended end() {
    orders<run>();
    BOOST_REQUIRE(ended);
    BOOST_TEST(ended->end == race_end::won);
    BOOST_TEST(ended->winner == w1);
    return *ended;
  }

  static inline const node_id n1{"n1"}, n2{"n2"};
  const race_id race{"run_1"};
  const worker_id w1{"worker_01"};
  race_rules::time_point t0{};
  race_rules rules;
  std::optional<race_ended> ended;
};

/// A race that is won, quiet, and being timed.
struct timing_race : timed_race {
  timing_race() {
    win(t0);
    quieten(t0 + 1s);
    const auto asked = orders<run>();
    BOOST_REQUIRE_EQUAL(asked.size(), 1U);
    BOOST_REQUIRE(asked[0].first == n1);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(winners_timing)

BOOST_AUTO_TEST_CASE(it_is_asked_for_only_when_every_node_is_quiet_and_where_the_winner_ran) {
  timed_race one;
  one.win(one.t0);
  one.rules.on_node_quiet({one.race, one.n1}, one.t0);
  BOOST_TEST(one.orders<run>().empty());
  one.rules.on_node_quiet({one.race, one.n2}, one.t0 + 5ms);
  const auto asked = one.orders<run>();
  BOOST_REQUIRE_EQUAL(asked.size(), 1U);
  BOOST_TEST(asked[0].first == one.n1);
  const auto& order = asked[0].second;
  BOOST_TEST(order.is_timing);
  BOOST_TEST(order.code == "code");
  BOOST_TEST(order.problem == "class Model: pass");
  BOOST_TEST((order.limits.wall == timing_wall));
  BOOST_TEST(!one.ended.has_value());
}

BOOST_AUTO_TEST_CASE(a_race_that_did_not_ask_for_it_ends_at_once) {
  timed_race one{false};
  one.win(one.t0);
  one.quieten(one.t0);
  BOOST_TEST(one.orders<run>().empty());
  BOOST_TEST(one.end().not_timed == "");
}

BOOST_FIXTURE_TEST_CASE(its_record_stands_in_the_races_end_and_quiet_is_before_it, timing_race) {
  rules.on_run_ended(timed(outcome::exited, R"({"status":"timed"})"), t0 + 31s);
  const auto got = end();
  BOOST_TEST(got.timing == R"({"status":"timed"})");
  BOOST_TEST(got.not_timed == "");
  BOOST_TEST(got.quiet.count() == 1'000'000);
  BOOST_TEST(got.elapsed.count() == 31'000'000);
  BOOST_TEST(got.unconfirmed_nodes.empty());
}

BOOST_FIXTURE_TEST_CASE(whatever_becomes_of_it_the_race_is_won, timing_race) {
  auto failed = timed(outcome::out_of_memory);
  failed.result.reason = "out of memory (8 GiB)";
  rules.on_run_ended(failed, t0 + 9s);
  BOOST_TEST(end().not_timed == "out of memory (8 GiB)");
}

BOOST_FIXTURE_TEST_CASE(a_node_that_refuses_it_or_is_lost_ends_it, timing_race) {
  rules.on_timing_refused(fail(ec::refused, "no slot"), t0 + 2s);
  BOOST_TEST(end().not_timed.find("no slot") != std::string::npos);
  timing_race other;
  other.rules.on_node_lost(other.n1, "gone", other.t0 + 2s);
  const auto got = other.end();
  BOOST_TEST(got.not_timed == "node n1 is lost: gone");
  BOOST_REQUIRE_EQUAL(got.unconfirmed_nodes.size(), 1U);
  BOOST_TEST(got.unconfirmed_nodes[0] == other.n1);
}

BOOST_FIXTURE_TEST_CASE(an_order_whose_answer_is_lost_may_run_all_the_same, timing_race) {
  rules.on_timing_refused(fail(ec::reply_timeout, "silent"), t0 + 6s);
  BOOST_TEST(!rules.is_over());
  rules.on_run_ended(timed(outcome::exited, "{}"), t0 + 9s);
  BOOST_TEST(end().timing == "{}");
}

BOOST_FIXTURE_TEST_CASE(a_stop_kills_it_and_waits_until_it_is_gone, timing_race) {
  rules.on_stop({race, "SIGINT"}, t0 + 2s);
  const auto asked = orders<cancel>();
  BOOST_REQUIRE_EQUAL(asked.size(), 1U);
  BOOST_TEST(asked[0].first == n1);
  BOOST_TEST(!rules.is_over());
  rules.on_run_ended(timed(outcome::cancelled), t0 + 3s);
  const auto got = end();
  BOOST_TEST(got.not_timed == "stopped: SIGINT");
  BOOST_TEST(got.timing == "");
  BOOST_TEST(got.unconfirmed_nodes.empty());
}

BOOST_FIXTURE_TEST_CASE(a_stop_that_nobody_confirms_names_the_node, timing_race) {
  rules.on_stop({race, "SIGINT"}, t0 + 2s);
  BOOST_TEST((rules.deadline() == t0 + 2s + quiet_timeout));
  rules.on_wake(t0 + 2s + quiet_timeout);
  const auto got = end();
  BOOST_REQUIRE_EQUAL(got.unconfirmed_nodes.size(), 1U);
  BOOST_TEST(got.unconfirmed_nodes[0] == n1);
}

BOOST_FIXTURE_TEST_CASE(its_time_is_bounded, timing_race) {
  BOOST_TEST((rules.deadline() == t0 + 1s + timing_timeout));
  rules.on_wake(t0 + 1s + timing_timeout);
  BOOST_TEST(orders<cancel>().size() == 1U);
  rules.on_node_quiet({race, n1}, t0 + 1s + timing_timeout + 1s);
  const auto got = end();
  BOOST_TEST(got.not_timed.find("not done within") != std::string::npos);
  BOOST_TEST(got.unconfirmed_nodes.empty());
}

BOOST_AUTO_TEST_CASE(a_stop_before_it_began_leaves_it_out) {
  timed_race one;
  one.win(one.t0);
  one.rules.on_stop({one.race, "SIGINT"}, one.t0 + 1ms);
  one.quieten(one.t0 + 2ms);
  BOOST_TEST(one.orders<run>().empty());
  BOOST_TEST(one.end().not_timed == "stopped: SIGINT");
}

BOOST_AUTO_TEST_CASE(where_something_may_still_run_nothing_is_timed) {
  timed_race one;
  one.win(one.t0);
  one.rules.on_node_quiet({one.race, one.n1}, one.t0);
  one.rules.on_wake(one.t0 + quiet_timeout);
  BOOST_TEST(one.orders<run>().empty());
  BOOST_TEST(one.end().not_timed.find("quiet") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(another_runs_end_is_not_its, timing_race) {
  auto other = timed(outcome::exited, "{}");
  other.attempt = 9;
  rules.on_run_ended(other, t0 + 2s);
  BOOST_TEST(!rules.is_over());
}

BOOST_AUTO_TEST_CASE(a_race_taken_up_again_is_timed_by_whoever_is_there) {
  auto config = timed_race::config(true);
  config.standing.emplace();
  config.standing->last_seq = 40;
  config.standing->passed = timed_race{}.passed();
  race_rules rules{config};
  rules.begin({});
  rules.on_withdrawn({}, 0, {});
  for (const auto& node : {timed_race::n1, timed_race::n2}) {
    rules.on_cancelled(node, {}, {});
    rules.on_node_quiet({race_id{"run_1"}, node}, {});
  }
  const auto all = rules.take_effects();
  const auto* last = std::get_if<node_order>(&all.back());
  BOOST_REQUIRE(last != nullptr);
  BOOST_TEST(std::get<run>(last->body).is_timing);
}

BOOST_AUTO_TEST_CASE(a_node_takes_it_only_when_nothing_of_the_race_lives_there) {
  node_rules rules{node_id{"n1"}};
  run order;
  order.race = race_id{"run_1"};
  order.worker = worker_id{"worker_01"};
  order.is_timing = true;
  spawn_worker job;
  job.race = order.race;
  job.spec.worker = order.worker;
  BOOST_REQUIRE(rules.on_spawn(job));
  BOOST_TEST(code_of(rules.on_run(order)) == ec::refused);
  rules.on_cancel(order.race);
  rules.on_worker_down(order.race, order.worker, true, "", {});
  rules.on_signalled(order.race, 0);
  rules.take_effects();
  BOOST_TEST(!rules.on_run(order));
  BOOST_TEST(!rules.on_run(order));  // asked again
  // A stop: its run is killed, and quiet comes once it is gone.
  rules.on_cancel(order.race);
  auto stop = rules.take_effects();
  BOOST_REQUIRE_EQUAL(stop.size(), 1U);
  BOOST_TEST(std::holds_alternative<cancel_runs>(stop[0]));
  rules.on_signalled(order.race, 1);
  BOOST_TEST(std::holds_alternative<cancelled>(rules.take_effects().at(0)));
  rules.on_run_ended({order.race, order.worker, order.round, order.attempt, {}});
  const auto gone = rules.take_effects();
  BOOST_REQUIRE_EQUAL(gone.size(), 2U);
  BOOST_TEST(std::holds_alternative<timing_over>(gone[0]));
  BOOST_TEST(std::holds_alternative<node_quiet>(gone[1]));
}

BOOST_AUTO_TEST_SUITE_END()
