// SPDX-License-Identifier: Apache-2.0
// Whole races with the real actors; every case twice: direct, and with every message through the codec.
#include "tests/support/printing.hpp"
#include "tests/support/race_house.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;

namespace regatta::test {
std::ostream& operator<<(std::ostream& out, path x) {
  return out << (x == path::direct ? "direct" : "codec");
}
}  // namespace regatta::test

namespace {

const auto both = boost::unit_test::data::make({path::direct, path::codec});
const worker_id w1 = make_worker_id(1);
const worker_id w2 = make_worker_id(2);

race_ended only_end(const race_house& house) {
  const auto ends = house.facts<race_ended>();
  BOOST_REQUIRE_EQUAL(ends.size(), 1U);
  BOOST_REQUIRE_EQUAL(house.log->closed.size(), 1U);
  for (std::size_t i = 0; i < house.log->events.size(); ++i) {
    BOOST_REQUIRE_EQUAL(house.log->events[i].seq, i + 1);
  }
  BOOST_TEST(kind_of(house.log->events.back().body) == "race_ended");
  return ends[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(race_suite)

BOOST_DATA_TEST_CASE(the_first_pass_wins_and_everybody_else_is_stopped, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) {
    return x.worker == w1 ? says_code("x = 'pass'") : x.worker == w2 ? says_code("x = 'hang'") : holds();
  };
  // So that the losing candidate runs before the winner is even asked.
  auto spec = house.spec(4);
  std::ranges::reverse(spec.workers);
  BOOST_REQUIRE(house.start(spec));
  const auto end = only_end(house);
  BOOST_TEST(end.end == race_end::won);
  BOOST_TEST(end.winner == w1);
  BOOST_TEST(end.reason == "pass via sentinel at iter 1");
  BOOST_TEST(end.unconfirmed_nodes.empty());
  BOOST_TEST(house.runs->cancelled_runs == 1U);
  BOOST_TEST(house.llm->withdrawn == 2U);
  BOOST_TEST(house.facts<worker_finished>().size() == 4U);
  BOOST_TEST(house.facts<winner_decided>().at(0).standing == "claimed, not verified");
  BOOST_TEST(house.log->closed[0].artifact_path == "/runs/result.tar.gz");
  if (way == path::codec) {
    BOOST_TEST(house.relayed->frames > 20U);
  }
}

BOOST_DATA_TEST_CASE(a_failed_run_is_fed_back_with_the_tails_and_the_code, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) { return says_code(x.round == 1 ? "x = 'fail'" : "x = 'pass'"); };
  BOOST_REQUIRE(house.start(house.spec(1)));
  BOOST_TEST(only_end(house).winner_round == 2U);
  const auto& second = house.llm->asked.at(1).user;
  for (const auto* text : {"RUN_FAIL: ended as exited_nonzero", "STDOUT_TAIL:\nout of worker_01",
                           "STDERR_TAIL:\nerr of worker_01", "x = 'fail'"}) {
    BOOST_TEST(second.find(text) != std::string::npos, text << " is missing in " << second);
  }
  BOOST_TEST(house.llm->asked.at(1).workers == 1U);
}

BOOST_DATA_TEST_CASE(a_reply_without_code_costs_the_round_and_is_fed_back, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) {
    return x.round == 1   ? says("I would rather not.")
           : x.round == 2 ? says_code("syntax_error here")
                          : says_code("x = 'pass'");
  };
  BOOST_REQUIRE(house.start(house.spec(1)));
  BOOST_TEST(only_end(house).winner_round == 3U);
  BOOST_TEST(house.llm->asked.at(1).user.find("EXTRACT_FAIL: no_code") != std::string::npos);
  BOOST_TEST(house.llm->asked.at(2).user.find("EXTRACT_FAIL: syntax_error") != std::string::npos);
  BOOST_TEST(house.llm->asked.at(2).user.find("line 1: invalid syntax") != std::string::npos);
}

BOOST_DATA_TEST_CASE(an_empty_reply_is_asked_again_without_using_up_the_round, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) {
    return x.attempt < 3 ? fails_with(llm_outcome::empty) : says_code("x = 'pass'");
  };
  BOOST_REQUIRE(house.start(house.spec(1, 1)));
  const auto end = only_end(house);
  BOOST_TEST(end.end == race_end::won);
  BOOST_TEST(end.winner_round == 1U);
  BOOST_TEST(end.llm_calls == 3U);
  BOOST_TEST(house.llm->asked.at(2).user == house.llm->asked.at(0).user);
}

BOOST_DATA_TEST_CASE(when_every_call_fails_the_race_says_so_and_no_round_is_spent, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt&) { return fails_with(llm_outcome::unauthorized, "no such key"); };
  BOOST_REQUIRE(house.start(house.spec(3)));
  const auto end = only_end(house);
  BOOST_TEST(end.end == race_end::llm_failed);
  BOOST_TEST(end.reason == "llm_failure: unauthorized: no such key");
  BOOST_TEST(end.llm_calls == 3U);
  BOOST_TEST(house.facts<round_failed>().empty());
}

BOOST_DATA_TEST_CASE(rounds_without_a_pass_end_as_no_passing_solution, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) {
    return says_code("fail = '" + to_string(x.worker) + std::to_string(x.round) + "'");
  };
  BOOST_REQUIRE(house.start(house.spec(2, 3)));
  const auto end = only_end(house);
  BOOST_TEST(end.end == race_end::no_passing_solution);
  BOOST_TEST(end.reason == "no_passing_solution");
  BOOST_TEST(end.evaluations == 6U);
  BOOST_TEST(end.input_tokens == 60U);
}

BOOST_DATA_TEST_CASE(a_second_pass_is_a_runner_up, both, way) {
  race_house house{way};
  std::vector<prompt> held;
  house.llm->answer = [](const prompt& x) { return says_code("pass = '" + to_string(x.worker) + "'"); };
  BOOST_REQUIRE(house.start(house.spec(2)));
  const auto end = only_end(house);
  BOOST_TEST(house.facts<winner_decided>().size() == 1U);
  BOOST_TEST(house.facts<runner_up>().size() == end.runners_up);
  BOOST_TEST(house.facts<worker_finished>().size() == 2U);
}

BOOST_DATA_TEST_CASE(a_duplicate_of_a_judged_candidate_gets_its_verdict_and_another_round, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) {
    if (x.round == 2) {
      return x.worker == w2 ? says_code("x = 'pass'") : holds();
    }
    return says_code("x = 'fail'");
  };
  BOOST_REQUIRE(house.start(house.spec(2)));
  BOOST_TEST(only_end(house).winner == w2);
  BOOST_TEST(house.runs->asked.size() == 2U, "the same text is evaluated once");
  const auto second =
      std::ranges::find_if(house.llm->asked, [](const prompt& x) { return x.worker == w2 && x.round == 2; });
  BOOST_REQUIRE(second != house.llm->asked.end());
  BOOST_TEST(second->user.find("DUPLICATE: another worker") != std::string::npos);
  BOOST_TEST(second->user.find("RUN_FAIL: ended as exited_nonzero") != std::string::npos);
}

BOOST_DATA_TEST_CASE(a_duplicate_of_a_running_candidate_waits_for_it, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) { return x.round == 1 ? says_code("x = 'hang'") : holds(); };
  BOOST_REQUIRE(house.start(house.spec(2)));
  const auto reserved = house.facts<candidate_reserved>();
  BOOST_REQUIRE_EQUAL(reserved.size(), 2U);
  BOOST_TEST(reserved[1].duplicate == duplicate::duplicate_cross_worker);
  BOOST_TEST(house.runs->asked.size() == 1U);
  BOOST_TEST(house.facts_of<worker_moved>(reserved[1].worker).back().phase == worker_phase::waiting);
  house.tell(house.coordinator, stop_race{race_id{"run_1"}, "test"});
  BOOST_TEST(only_end(house).end == race_end::cancelled);
}

BOOST_DATA_TEST_CASE(a_worker_that_repeats_itself_is_told_so, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) { return says_code(x.round < 3 ? "x = 'fail'" : "x = 'pass'"); };
  BOOST_REQUIRE(house.start(house.spec(1)));
  BOOST_TEST(only_end(house).winner_round == 3U);
  BOOST_TEST(house.facts<candidate_reserved>().at(1).duplicate == duplicate::duplicate_same_worker);
  BOOST_TEST(house.llm->asked.at(2).user.find("you sent this very program before (round 1)") != std::string::npos);
}

BOOST_DATA_TEST_CASE(retire_ends_the_worker_whose_candidate_was_second, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) { return x.round == 1 ? says_code("x = 'fail'") : says_code("x = 'pass'"); };
  auto spec = house.spec(2);
  spec.on_duplicate = duplicate_policy::retire;
  BOOST_REQUIRE(house.start(spec));
  BOOST_TEST(only_end(house).end == race_end::won);
  const auto finished = house.facts<worker_finished>();
  BOOST_TEST(std::ranges::count(finished, worker_end::retired, &worker_finished::end) == 1);
}

BOOST_DATA_TEST_CASE(a_sandbox_failure_is_tried_again_and_never_held_against_the_candidate, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt&) { return says_code("x = 'flaky'  # then fails"); };
  BOOST_REQUIRE(house.start(house.spec(1, 1)));
  BOOST_TEST(only_end(house).end == race_end::no_passing_solution);
  BOOST_TEST(house.runs->asked.size() == 2U);
  BOOST_TEST(house.runs->asked.at(1).attempt == 2U);
}

BOOST_DATA_TEST_CASE(a_sandbox_that_stays_broken_ends_the_race_by_name, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt&) { return says_code("x = 'broken_sandbox'"); };
  BOOST_REQUIRE(house.start(house.spec(2, 5)));
  const auto end = only_end(house);
  BOOST_TEST(end.end == race_end::sandbox_failed);
  BOOST_TEST(end.reason == "sandbox_failure: sandbox_failed: ended as sandbox_failed");
  BOOST_TEST(house.facts<round_failed>().empty());
}

BOOST_DATA_TEST_CASE(a_race_can_be_stopped_in_every_phase, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) { return x.worker == w1 ? holds() : says_code("x = 'hang'"); };
  BOOST_REQUIRE(house.start(house.spec(3)));
  house.tell(house.coordinator, stop_race{race_id{"run_1"}, "Ctrl-C"});
  house.tell(house.coordinator, stop_race{race_id{"run_1"}, "Ctrl-C"});
  const auto end = only_end(house);
  BOOST_TEST(end.end == race_end::cancelled);
  BOOST_TEST(end.reason == "canceled");
  BOOST_TEST(house.facts<race_cancelled>().at(0).why == "Ctrl-C");
  BOOST_TEST(house.facts<race_cancelled>().at(0).runs == 1U);
  BOOST_TEST(house.facts<race_cancelled>().at(0).workers == 3U);
  BOOST_TEST(house.facts<race_cancelled>().at(0).prompts == 1U);
  BOOST_TEST(house.runs->cancelled_runs == 1U);
}

BOOST_DATA_TEST_CASE(a_deadline_stops_the_race_to_the_second, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt&) { return says_code("x = 'hang'"); };
  auto spec = house.spec(1);
  spec.deadline = 10s;
  BOOST_REQUIRE(house.start(spec));
  house.advance(10s - 1ns);
  BOOST_TEST(house.log->closed.empty());
  house.advance(1ns);
  BOOST_TEST(only_end(house).end == race_end::deadline);
}

BOOST_DATA_TEST_CASE(a_gateway_that_falls_silent_is_asked_twice_and_then_counts_as_failed, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt& x) { return x.attempt == 1 ? stays_silent() : says_code("x = 'pass'"); };
  BOOST_REQUIRE(house.start(house.spec(1)));
  house.pass(14s);
  BOOST_TEST(house.llm->asked.size() == 1U);
  house.pass(2s);
  BOOST_TEST(house.llm->asked.size() == 2U);
  house.pass(16s);
  BOOST_TEST(only_end(house).end == race_end::won);
  BOOST_TEST(house.llm->asked.size() == 3U);
  BOOST_TEST(house.facts<prompt_sent>().size() == 2U, "the same key is the same question");
}

BOOST_DATA_TEST_CASE(an_evaluator_that_falls_silent_counts_as_a_broken_sandbox, both, way) {
  race_house house{way, 1};
  house.llm->answer = [](const prompt&) { return says_code("x = 'silent'"); };
  BOOST_REQUIRE(house.start(house.spec(1)));
  house.pass(100s);
  // Its trees were never reported gone, so the node cannot be quiet; that is said, after `quiet_timeout`.
  house.pass(11s);
  const auto end = only_end(house);
  BOOST_TEST(end.end == race_end::sandbox_failed);
  BOOST_REQUIRE_EQUAL(end.unconfirmed_nodes.size(), 1U);
  BOOST_TEST(end.unconfirmed_nodes[0] == node_id{"n1"});
}

BOOST_DATA_TEST_CASE(late_and_repeated_messages_change_nothing, both, way) {
  race_house house{way};
  house.llm->answer = [](const prompt&) { return says_code("x = 'pass'"); };
  BOOST_REQUIRE(house.start(house.spec(1)));
  const auto before = house.log->events.size();
  const race_id race{"run_1"};
  house.tell(house.coordinator, winner{race, w1, 1, 1, source_digest{"x"}, "code",
                                       ended_as(run{}, outcome::exited, claim::sentinel).result});
  house.tell(house.coordinator,
             prompt_ended{race, w1, 1, 1, llm_outcome::replied, "late", "", "", {}, "", 0, 1, {}, {}, 0, {}, 0, 0, false});
  house.tell(house.coordinator, node_quiet{race, node_id{"n1"}});
  house.tell(house.coordinator, worker_ended{race, w1, 1, worker_end::crashed, "late"});
  house.tell(house.agents.at(node_id{"n1"}),
             prompt_ended{race, w1, 9, 9, llm_outcome::replied, "late", "", "", {}, "", 0, 1, {}, {}, 0, {}, 0, 0, false});
  BOOST_TEST(house.log->events.size() == before);
  BOOST_TEST(only_end(house).end == race_end::won);
}

BOOST_DATA_TEST_CASE(what_cannot_be_raced_is_refused_by_name, both, way) {
  race_house house{way};
  const auto refusal = [&](race_spec x) { return describe(house.start(std::move(x)).error()); };
  BOOST_TEST(refusal(house.spec(0)) == "invalid_config: workers: got 0, allowed 1 to 10000");
  BOOST_TEST(refusal(house.spec(1, 0)) == "invalid_config: rounds: got 0, allowed 1 to 1000");
  auto twice = house.spec(2);
  twice.workers[1].worker = w1;
  BOOST_TEST(refusal(twice) == "invalid_config: workers: id \"worker_01\" is empty or given twice");
  BOOST_REQUIRE(house.start(house.spec(1)));
  BOOST_TEST(refusal(house.spec(1)) == "already_exists: run_1");
  const auto unknown = house.ask<accepted>(house.coordinator, prompt{race_id{"other"}, w1, 1, 1, {}, "", "", 0, {}});
  BOOST_TEST(code_of(unknown.error()) == ec::unknown_race);
}

BOOST_AUTO_TEST_SUITE_END()
