// SPDX-License-Identifier: Apache-2.0
#include "cli/account.hpp"

#include "cli/progress.hpp"
#include "cli/race_view.hpp"
#include "tests/cli/has.hpp"
#include "tests/cli/race_script.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

namespace {

using test::race_script;

race_record record_of(const race_script& script, const std::string& artifact = "/s/run/result.tar.gz") {
  race_view view;
  for (const auto& x : script.events) {
    view.apply(x);
  }
  race_closed closed;
  closed.artifact_path = artifact;
  view.apply(closed);
  return view.record();
}

race_script won_race() {
  race_script script{3};
  code_extracted bad;
  bad.worker = make_worker_id(1);
  bad.round = 1;
  bad.result = extraction::syntax_error;
  bad.note = "line 3: invalid syntax";
  script.add(bad).fails(1, 1, "syntax_error: line 3: invalid syntax");
  script.evaluates(2, 1, race_script::exits(1)).fails(2, 1, "exit status 1: \x1B[31mAssertionError");
  candidate_reserved same{make_worker_id(3), 1, 1, source_digest{"d"}, duplicate::duplicate_cross_worker,
                          make_worker_id(2)};
  script.add(same).fails(3, 1, "same as worker_02's");
  script.wins(2, 2);
  worker_finished loser;
  loser.worker = make_worker_id(1);
  loser.end = worker_end::cancelled;
  return script.add(loser).ends(race_end::won, "pass via run_tests at iter 2");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(accounts)

BOOST_AUTO_TEST_CASE(money_says_of_which_currency_it_is) {
  auto record = record_of(won_race());
  auto& race = record.race;
  race.cost = 1'250'000'000;
  race.reserved_cost = 250'000'000;
  race.budget.money = 5'000'000'000;
  race.in_flight = 1;
  race.currency = "USD";
  const auto text = account_text(record, {});
  BOOST_TEST_INFO(text);
  BOOST_TEST(has(text, "money 1.25 USD of 5.00 USD: 1.00 USD by reported usage, 0.25 USD as the upper bound"));
  BOOST_TEST(has(text, "0.000000001 USD more is reserved"));
  BOOST_TEST(has(list_text({race}), ", cost 1.25 USD"));
  BOOST_TEST(has(list_json({race}), "\"currency\": \"USD\""));
  race.currency.clear();
  BOOST_TEST(has(list_text({race}), ", cost 1.25\n"), "nobody knows it of an old race");
}

BOOST_AUTO_TEST_CASE(a_won_race_says_who_raced_who_failed_why_and_who_won) {
  const auto text = account_text(record_of(won_race()), {});
  for (const auto* part :
       {"won by worker_02 in round 2 (claimed, not verified)", "Problem    softmax (/p/softmax.py)",
        "worker_01  m, variant 1: cancelled after", "round 1  failed: syntax_error: line 3: invalid syntax",
        "round 1  failed: exit status 1: AssertionError", "[duplicate_cross_worker of worker_02]", "round 2  won",
        "triton-interpreter (Triton's interpreter on the CPU: says nothing about a GPU", "sandbox L4",
        "decided 4.2 s after the start", "3.0 ms (cancel_ms)", "18.0 ms (quiet_ms)", "5 calls, 1200 tokens in, 340 out",
        "Files      /s/run_20260101_000000_00000001", "/s/run/result.tar.gz"}) {
    BOOST_TEST_INFO(part << "\nin:\n" << text);
    BOOST_TEST(has(text, part));
  }
  BOOST_TEST(!has(text, "\x1B"));
}

BOOST_AUTO_TEST_CASE(a_lost_race_says_why) {
  race_script script{1};
  script.fails(1, 1, "no code").ends(race_end::no_passing_solution, "no_passing_solution");
  const auto text = account_text(record_of(script, ""), {});
  BOOST_TEST(has(text, "no winner, no_passing_solution\n"), "once");
  BOOST_TEST(has(text, "no candidate was run"));
  BOOST_TEST(!has(text, "Winner"));
  BOOST_TEST(!has(text, "result.tar.gz"));
}

BOOST_AUTO_TEST_CASE(a_spent_budget_is_no_failure_of_a_model) {
  race_script script{1};
  const std::string reason = "llm_failure: budget_exhausted: 0.1 of 0.1 is spent";
  script.ends(race_end::llm_failed, reason);
  const auto record = record_of(script, "");
  BOOST_TEST(has(account_text(record, {}), "no winner, budget spent (" + reason + ")"));
  BOOST_TEST(has(list_text({record.race}), "budget spent"));
  BOOST_TEST(has(plain_line(script.events.back()).value_or(""), "race ended, budget spent"));
  BOOST_TEST(has(account_json(record, {}), "llm_failed"), "files keep their words");
}

BOOST_AUTO_TEST_CASE(a_race_that_has_not_ended_says_so) {
  race_script script{1};
  BOOST_TEST(has(account_text(record_of(script, ""), {}), "not ended"));
}

BOOST_AUTO_TEST_CASE(one_worker_and_one_round_can_be_asked_for) {
  account_options options;
  options.only_worker = make_worker_id(2);
  options.only_round = 1;
  options.has_details = true;
  const auto text = account_text(record_of(won_race()), options);
  BOOST_TEST(!has(text, "worker_01  m"));
  BOOST_TEST(has(text, "worker_02  m"));
  BOOST_TEST(!has(text, "round 2  won"));
  BOOST_TEST(has(text, "run 1: exited_nonzero, claim none, not_judged"));
  BOOST_TEST(has(text, "/workers/worker_02/prompts/iteration_1.txt"));
}

BOOST_AUTO_TEST_CASE(json_has_the_same_facts_and_a_schema_version) {
  const auto text = account_json(record_of(won_race()), {});
  for (const auto* part : {"\"schema_version\": 1", "\"winner_worker_id\": \"worker_02\"", "\"winner_round\": 2",
                           "\"standing\": \"claimed, not verified\"", "\"cancel_us\": 3000", "\"has_won\": true"}) {
    BOOST_TEST_INFO(part);
    BOOST_TEST(has(text, part));
  }
}

BOOST_AUTO_TEST_CASE(a_list_has_one_line_per_race) {
  const auto record = record_of(won_race());
  const auto text = list_text({record.race, record.race});
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 2);
  BOOST_TEST(has(text, "worker_02 in round 2 (claimed, not verified)"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
