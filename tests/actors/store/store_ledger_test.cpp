// SPDX-License-Identifier: Apache-2.0
#include "actors/store_ledger.hpp"

#include "actors/race_standing.hpp"
#include "tests/actors/store/ledger_bench.hpp"
#include "tests/actors/store/state_folder.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace regatta::test;

namespace {

/// A race with four workers that runs.
scripted_race begun(const std::string& id) {
  scripted_race race{id, 4};
  race.start();
  return race;
}

struct ledger_folder : state_folder {
  std::string one(const std::string& sql) const {
    auto db = database::open(state + "/regatta.db", database_access::read_only);
    BOOST_REQUIRE(db);
    std::string value;
    const auto error = (*db)->each(sql, [&](result_row& row) { row.read(value); });
    BOOST_REQUIRE_MESSAGE(!error, describe(error));
    return value;
  }
  std::int64_t spent(const std::string& scope) const {
    return number("SELECT sum(cost) FROM budget_totals WHERE scope = '" + scope + "'");
  }
  std::int64_t reserved(const std::string& scope) const {
    return number("SELECT sum(reserved) FROM budget_totals WHERE scope = '" + scope + "'");
  }
};

std::uint64_t row(const caf::expected<call_opened>& x) {
  BOOST_REQUIRE_MESSAGE(x, why(x));
  BOOST_REQUIRE(x->call != 0U);
  return x->call;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(ledgers, ledger_folder)

BOOST_AUTO_TEST_CASE(a_call_is_reserved_before_it_and_settled_after_it) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  const auto call = row(us.ask(call_of("run_1", 1, 100)));
  for (const auto* scope : {"race", "process", "day"}) {
    BOOST_TEST(reserved(scope) == 100, scope);
    BOOST_TEST(spent(scope) == 0, scope);
  }
  BOOST_TEST(one("SELECT outcome FROM ledger") == "in flight");
  us.now_us += 5;
  BOOST_REQUIRE(us.ask(end_of(call, llm_outcome::replied, 40)));
  for (const auto* scope : {"race", "process", "day"}) {
    BOOST_TEST(reserved(scope) == 0, scope);
    BOOST_TEST(spent(scope) == 40, scope);
  }
  BOOST_TEST(one("SELECT outcome || basis || is_answer FROM ledger") == "repliedusage1");
  BOOST_TEST(one("SELECT reply FROM llm_calls") == "the reply");
  BOOST_TEST(one("SELECT day FROM spending WHERE charged_tokens = 40") == "2026-11-30");
}

BOOST_AUTO_TEST_CASE(the_same_question_of_the_same_process_is_one_row) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  const auto call = row(us.ask(call_of("run_1", 1, 100)));
  BOOST_TEST(row(us.ask(call_of("run_1", 1, 100))) == call);
  BOOST_TEST(reserved("day") == 100);
  BOOST_REQUIRE(us.ask(end_of(call, llm_outcome::replied, 40)));
  BOOST_REQUIRE(us.ask(end_of(call, llm_outcome::replied, 90)));
  BOOST_TEST(spent("day") == 40, "the first end stands");
}

BOOST_AUTO_TEST_CASE(a_second_try_is_a_row_of_its_own) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  const auto call = row(us.ask(call_of("run_1", 1, 100)));
  BOOST_REQUIRE(us.ask(end_of(call, llm_outcome::overloaded, 0, false)));
  BOOST_TEST(row(us.ask(call_of("run_1", 1, 100, 2))) != call);
  BOOST_TEST(number("SELECT calls FROM budget_totals WHERE scope = 'race'") == 2);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_booked_is_refused_by_name) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  BOOST_TEST(failure(us.ask(call_of("run_none", 1, 1))) == ec::unknown_race);
  BOOST_TEST(failure(us.ask(call_of("run_1", 9, 1))) == ec::unknown_worker);
  BOOST_TEST(failure(us.ask(end_of(77, llm_outcome::replied, 1))) == ec::not_found);
  const auto call = row(us.ask(call_of("run_1", 1, 100)));
  ledger_process other{state, dead_process(1)};
  BOOST_TEST(failure(other.ask(end_of(call, llm_outcome::replied, 1))) == ec::not_holder);
  BOOST_TEST(reserved("day") == 100);
}

BOOST_AUTO_TEST_CASE(a_refused_question_among_others_fails_alone) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  std::map<race_id, caf::error> refused;
  std::vector<ledger_answer> answers;
  const std::vector<ledger_question> questions = {call_of("run_1", 1, 1), call_of("run_9", 1, 1),
                                                  call_of("run_1", 2, 1), end_of(1, llm_outcome::replied, 1)};
  BOOST_REQUIRE(!us.writer().write({}, questions, evening_us, refused, answers));
  BOOST_REQUIRE(answers.size() == 4U);
  BOOST_TEST(std::holds_alternative<call_opened>(answers[0]));
  BOOST_TEST(std::holds_alternative<caf::error>(answers[1]));
  BOOST_TEST(std::holds_alternative<call_opened>(answers[2]));
  BOOST_TEST(std::holds_alternative<call_closed>(answers[3]));
}

BOOST_AUTO_TEST_CASE(field_failures_107_calls_in_flight_count_and_nothing_goes_above_the_budget) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  const auto ask = [&](std::uint32_t worker) {
    auto x = call_of("run_1", worker, 40);
    x.race_budget.money = 100;
    return us.ask(x);
  };
  const auto first = row(ask(1));
  row(ask(2));
  const auto waits = ask(3);
  BOOST_TEST(failure(waits) == ec::refused);
  BOOST_TEST(why(waits).find("budget of race run_1: limit 0.0000001, spent 0.00, reserved by calls in flight 0.00000008") !=
                 std::string::npos,
             why(waits));
  BOOST_REQUIRE(us.ask(end_of(first, llm_outcome::replied, 10)));
  row(ask(3));
  BOOST_TEST(failure(ask(4)) == ec::refused);
  auto large = call_of("run_1", 4, 91);
  large.race_budget.money = 100;
  BOOST_TEST(failure(us.ask(large)) == ec::budget_spent, "10 are spent for good");
  BOOST_TEST(spent("race") + reserved("race") <= 100);
}

BOOST_AUTO_TEST_CASE(each_budget_has_its_own_word) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  us.tell(begun("run_2"));
  auto x = call_of("run_1", 1, 10);
  x.process_budget.money = 5;
  BOOST_TEST(why(us.ask(x)).find("budget of process") != std::string::npos, why(us.ask(x)));
  x.process_budget = {};
  x.day_budget.tokens = 5;
  BOOST_TEST(why(us.ask(x)).find("budget of day 2026-11-30: limit 5 tokens") != std::string::npos, why(us.ask(x)));
  x.day_budget = {15, 0};
  BOOST_REQUIRE(us.ask(end_of(row(us.ask(x)), llm_outcome::replied, 10)));
  auto other = call_of("run_2", 1, 10);
  other.day_budget = {15, 0};
  BOOST_TEST(failure(us.ask(other)) == ec::budget_spent, "a day is that of all races");
  us.now_us += 3'600'000'000;
  BOOST_TEST(failure(us.ask(other)) == ec::none, "a new UTC day");
}

BOOST_AUTO_TEST_CASE(usage_above_the_reservation_is_booked_in_full) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  BOOST_REQUIRE(us.ask(end_of(row(us.ask(call_of("run_1", 1, 10))), llm_outcome::replied, 25)));
  BOOST_TEST(spent("race") == 25);
  BOOST_TEST(reserved("race") == 0);
  auto huge = end_of(row(us.ask(call_of("run_1", 2, 10))), llm_outcome::replied, 25);
  huge.ended.cost = std::numeric_limits<nano_units>::max();
  huge.ended.charged_tokens = std::numeric_limits<std::uint64_t>::max();
  BOOST_REQUIRE(us.ask(huge));
  BOOST_TEST(spent("race") == most_spendable);
}

BOOST_AUTO_TEST_CASE(a_paid_answer_of_a_former_process_is_known_and_not_paid_again) {
  {
    ledger_process before{state, dead_process(1)};
    before.tell(begun("run_1"));
    BOOST_REQUIRE(before.ask(end_of(row(before.ask(call_of("run_1", 1, 10))), llm_outcome::replied, 4)));
    BOOST_REQUIRE(before.ask(end_of(row(before.ask(call_of("run_1", 2, 10))), llm_outcome::overloaded, 10)));
  }
  ledger_process us{state};
  const auto opened = us.ask(call_of("run_1", 1, 10));
  BOOST_REQUIRE_MESSAGE(opened, why(opened));
  BOOST_TEST(opened->call == 0U);
  BOOST_REQUIRE(opened->known);
  BOOST_TEST(opened->known->text == "the reply");
  BOOST_TEST(to_string(opened->known->outcome) == "replied");
  BOOST_TEST(opened->known->is_known);
  BOOST_TEST(opened->known->cost == 0, "it is paid");
  BOOST_TEST(spent("race") == 14);
  auto other = call_of("run_1", 1, 10);
  other.prompt_digest = "another question";
  BOOST_TEST(row(us.ask(other)) != 0U);
  BOOST_TEST(row(us.ask(call_of("run_1", 2, 10))) != 0U, "an overloaded provider brought no answer");
  BOOST_TEST(spent("race") == 14);
}

BOOST_AUTO_TEST_CASE(a_worker_that_starts_again_hears_the_answer_that_stands_under_a_later_attempt) {
  ledger_process us{state};
  us.tell(begun("run_1"));
  BOOST_REQUIRE(us.ask(end_of(row(us.ask(call_of("run_1", 1, 10))), llm_outcome::overloaded, 0)));
  auto second = call_of("run_1", 1, 10);
  second.attempt = 2;
  BOOST_REQUIRE(us.ask(end_of(row(us.ask(second)), llm_outcome::replied, 4)));
  const auto again = us.ask(call_of("run_1", 1, 10, 2));
  BOOST_REQUIRE_MESSAGE(again, why(again));
  BOOST_REQUIRE(again->known);
  BOOST_TEST(again->known->attempt == 1U);
  BOOST_TEST(spent("race") == 4);
}

BOOST_AUTO_TEST_CASE(a_call_whose_process_died_is_lost_in_flight_at_its_full_reservation) {
  {
    ledger_process before{state, dead_process(1)};
    before.tell(begun("run_1"));
    row(before.ask(call_of("run_1", 1, 70)));
  }
  ledger_process us{state};
  const auto opened = us.ask(call_of("run_1", 1, 10));
  BOOST_TEST(row(opened) != 0U);
  BOOST_TEST(opened->lost_in_flight == 1U);
  BOOST_TEST(opened->lost_cost == 70);
  BOOST_TEST(spent("day") == 70);
  BOOST_TEST(reserved("day") == 10);
  BOOST_TEST(one("SELECT outcome || basis FROM ledger WHERE call = 1") == "lost_in_flightreserved");
}

BOOST_AUTO_TEST_CASE(the_call_of_a_process_that_lives_is_not_lost) {
  ledger_process first{state};
  first.tell(begun("run_1"));
  row(first.ask(call_of("run_1", 1, 70)));
  ledger_process us{state, dead_process(1)};
  BOOST_TEST(us.ask(call_of("run_1", 1, 10))->lost_in_flight == 0U);
  BOOST_TEST(reserved("day") == 80);
}

BOOST_AUTO_TEST_CASE(the_dead_do_not_keep_a_budget_waiting) {
  {
    ledger_process before{state, dead_process(1)};
    before.tell(begun("run_1"));
    row(before.ask(call_of("run_1", 1, 70)));
  }
  ledger_process us{state};
  us.tell(begun("run_2"));
  auto x = call_of("run_2", 1, 40);
  x.day_budget.money = 100;
  BOOST_TEST(failure(us.ask(x)) == ec::budget_spent, "70 are charged, and nothing of it will come back");
  BOOST_REQUIRE(!us.writer().settle_dead(evening_us));
  BOOST_TEST(spent("day") == 70);
  BOOST_TEST(number("SELECT count(*) FROM token_use WHERE lost_in_flight = 1") == 1);
}

BOOST_AUTO_TEST_CASE(a_resumed_race_books_what_was_in_flight_and_tells_it_in_its_standing) {
  {
    ledger_process before{state, dead_process(1)};
    auto race = begun("run_1");
    before.tell(race);
    BOOST_REQUIRE(before.ask(end_of(row(before.ask(call_of("run_1", 1, 10))), llm_outcome::replied, 4)));
    row(before.ask(call_of("run_1", 2, 70)));
  }
  const auto check = [&] {
    const auto found = load_standing(state, race_id{"run_1"});
    BOOST_REQUIRE_MESSAGE(found, why(found));
    BOOST_TEST(found->standing.totals.cost == 74);
    BOOST_TEST(found->standing.totals.reserved_cost == 70);
    BOOST_TEST(found->standing.totals.lost_in_flight == 1U);
    BOOST_TEST(found->standing.replies == 1U);
    return *found;
  };
  BOOST_TEST(!check().is_owned);
  BOOST_REQUIRE(!claim_race(state, race_id{"run_1"}, evening_us));
  ledger_process us{state};
  scripted_race more{"run_1", 4};
  more.events.resize(5);
  more.add(race_resumed{"0.1.0", 1, 4, 1, 0, 5, std::chrono::seconds{0}, {1000, 0}});
  more.events.erase(more.events.begin(), more.events.begin() + 5);
  us.tell(more);
  BOOST_TEST(us.refusals.empty());
  BOOST_TEST(check().is_owned);
  BOOST_TEST(spent("race") == 74);
  BOOST_TEST(reserved("race") == 0);
}

BOOST_AUTO_TEST_CASE(of_two_that_resume_a_race_only_one_goes_on_and_the_other_hears_who) {
  {
    ledger_process before{state, dead_process(1)};
    before.tell(begun("run_1"));
  }
  BOOST_REQUIRE(!claim_race(state, race_id{"run_1"}, evening_us));
  BOOST_TEST(!claim_race(state, race_id{"run_1"}, evening_us), "again by the same process");
  ledger_process other{state, dead_process(2)};
  scripted_race more{"run_1", 4};
  more.events.resize(5);
  more.add(race_resumed{"0.1.0", 1, 4, 1, 0, 5, std::chrono::seconds{0}, {}});
  more.events.erase(more.events.begin(), more.events.begin() + 5);
  other.tell(more);
  BOOST_REQUIRE(other.refusals.size() == 1U);
  BOOST_TEST(other.refusals.front().find("is run by pid " + std::to_string(::getpid())) != std::string::npos,
             other.refusals.front());
  BOOST_TEST(failure(load_standing(state, race_id{"run_9"})) == ec::unknown_race);
  BOOST_TEST(code_of(claim_race(state, race_id{"run_9"}, evening_us)) == ec::unknown_race);
}

BOOST_AUTO_TEST_CASE(a_store_of_version_1_is_brought_up_to_date_with_all_its_calls) {
  std::filesystem::create_directories(state);
  {
    auto db = database::open(state + "/regatta.db", database_access::read_write);
    BOOST_REQUIRE(db);
    BOOST_REQUIRE(!(*db)->script(
        std::string{store_migration(0)} + "; PRAGMA user_version = 1; PRAGMA application_id = " +
        std::to_string(store_application_id) +
        "; INSERT INTO problems VALUES('p', 'softmax', '/p', 't'); INSERT INTO stages VALUES('s', 'kernel');"
        "INSERT INTO races(race_id, problem_digest, problem_path, stage_digest, accept, on_duplicate, device, workers, "
        "rounds, deadline_s, run_dir, version, started_us, owner_pid, owner_start_ticks, owner_boot_id, owner_host, "
        "owner_heartbeat_us) VALUES('run_1', 'p', '/p', 's', 'claimed', 'reprompt', 'any', 1, 3, 0, '/r', '0.1.0', "
        "1796079600000000, 1, 2, 'b', 'h', 3);"
        "INSERT INTO workers(race_id, worker_id, number, variant, provider, model, max_output_tokens, reasoning_effort) "
        "VALUES('run_1', 'worker_01', 1, 0, 'openai', 'gpt-x', 0, '');"
        "INSERT INTO llm_calls(race_id, sent_seq, worker_id, round, attempt, provider, model, max_output_tokens, "
        "reasoning_effort, prompt_digest, sent_us, ended_us, outcome, reply, tries, input_tokens, output_tokens) VALUES"
        "('run_1', 3, 'worker_01', 1, 1, 'openai', 'gpt-x', 0, '', 'd', 1796079600000000, 1796079601000000, 'replied', "
        "'old reply', 2, 100, 20), "
        "('run_1', 9, 'worker_01', 2, 1, 'openai', 'gpt-x', 0, '', 'e', 1796079602000000, NULL, NULL, NULL, NULL, NULL, "
        "NULL)"));
  }
  ledger_process us{state};
  BOOST_TEST(number("PRAGMA user_version") == store_schema_version);
  BOOST_TEST(number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
  BOOST_TEST(number("SELECT count(*) FROM pragma_foreign_key_check") == 0);
  BOOST_TEST(one("SELECT calls || ' ' || replied || ' ' || in_flight || ' ' || input_tokens FROM token_use") == "2 1 1 100");
  BOOST_TEST(number("SELECT tokens FROM budget_totals WHERE scope = 'day' AND name = '2026-11-30'") == 120);
  BOOST_TEST(number("SELECT llm_calls FROM worker_list") == 2);
  auto again = call_of("run_1", 1, 10);
  again.prompt_digest = "d";
  const auto known = us.ask(again);
  BOOST_REQUIRE_MESSAGE(known, why(known));
  BOOST_REQUIRE(known->known);
  BOOST_TEST(known->known->text == "old reply");
  BOOST_TEST(load("run_1").llm_calls.size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
