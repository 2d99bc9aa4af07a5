// SPDX-License-Identifier: Apache-2.0
#include "actors/store_gc.hpp"

#include "actors/race_standing.hpp"
#include "tests/actors/store/ledger_bench.hpp"
#include "tests/actors/store/state_folder.hpp"
#include "tests/actors/store/store_fixture.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>

using namespace regatta;
using namespace regatta::test;

namespace {

constexpr std::int64_t day_us = 86'400'000'000;

struct gc_folder : state_folder {
  /// With files and calls; ended at its scripted time.
  void run(const scripted_race& race) {
    running_store store{state};
    store.tell(race);
    pay(store, race);
    BOOST_REQUIRE(store.ask(commit{race.spec.race, race.events.size()}));
  }
  std::unique_ptr<store_gc> open() {
    auto gc = store_gc::open(state);
    BOOST_REQUIRE_MESSAGE(gc, why(gc));
    return std::move(*gc);
  }
  gc_plan plan(store_gc& gc, const gc_limits& limits, std::int64_t now_us = evening_us + 10 * day_us) {
    auto out = gc.plan(limits, now_us);
    BOOST_REQUIRE_MESSAGE(out, why(out));
    return std::move(*out);
  }
  gc_result collect(const gc_limits& limits) {
    auto gc = open();
    const auto out = gc->run(plan(*gc, limits), evening_us + 10 * day_us, [](const gc_race&) {});
    BOOST_REQUIRE_MESSAGE(out, why(out));
    return *out;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(garbage, gc_folder)

BOOST_AUTO_TEST_CASE(a_race_that_is_over_goes_with_all_its_rows_and_files) {
  run(won_race("run_1"));
  const auto spent = number("SELECT cost FROM budget_totals WHERE scope = 'day'");
  const auto by_view = number("SELECT sum(charged_tokens) FROM spending");
  BOOST_TEST(spent > 0);
  const auto done = collect({day_us, 0});
  BOOST_TEST(done.races == 1U);
  BOOST_TEST(done.kept.empty());
  for (const auto* table : {"races", "workers", "rounds", "evaluations", "events", "llm_calls", "candidates", "problems",
                            "stages"}) {
    BOOST_TEST(number("SELECT count(*) FROM " + std::string{table}) == 0, table);
  }
  BOOST_TEST(!std::filesystem::exists(state + "/run_1"));
  BOOST_TEST(!std::filesystem::exists(state + "/.gc_run_1"));
  BOOST_TEST(number("SELECT cost FROM budget_totals WHERE scope = 'day'") == spent, "today's budget counts it still");
  BOOST_TEST(number("SELECT sum(charged_tokens) FROM spending") == by_view);
  BOOST_TEST(number("PRAGMA freelist_count") == 0);
  BOOST_TEST(number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
}

BOOST_AUTO_TEST_CASE(field_failures_101_what_runs_or_can_be_resumed_is_never_collected) {
  scripted_race running{"run_live"};
  running.start().lose(1, 1, "x = 1\n");
  run(running);
  {
    ledger_process before{state, dead_process(1)};
    scripted_race killed{"run_killed"};
    killed.start();
    before.tell(killed);
  }
  auto gc = open();
  const auto all = plan(*gc, {1, 1});
  BOOST_TEST(all.races.empty());
  BOOST_TEST(all.running == 1U);
  BOOST_TEST(all.resumable == 1U);
  BOOST_REQUIRE(gc->run(all, evening_us, [](const gc_race&) {}));
  BOOST_TEST(number("SELECT count(*) FROM races") == 2);
  BOOST_TEST(std::filesystem::exists(state + "/run_live/workers/worker_01/state.json"));
}

BOOST_AUTO_TEST_CASE(field_failures_101_a_race_that_was_resumed_since_the_plan_stays_whole) {
  run(lost_race("run_1"));
  auto gc = open();
  const auto old = plan(*gc, {day_us, 0});
  BOOST_REQUIRE(old.races.size() == 1U);
  BOOST_REQUIRE(!claim_race(state, race_id{"run_1"}, evening_us));
  const auto events = number("SELECT count(*) FROM events");
  const auto done = gc->run(old, evening_us, [](const gc_race&) {});
  BOOST_REQUIRE_MESSAGE(done, why(done));
  BOOST_TEST(done->races == 0U);
  BOOST_REQUIRE(done->kept.size() == 1U);
  BOOST_TEST(done->kept.front().find("is not over any more") != std::string::npos);
  BOOST_TEST(number("SELECT count(*) FROM events") == events);
  BOOST_TEST(std::filesystem::exists(state + "/run_1/orchestrator/summary.json"));
}

BOOST_AUTO_TEST_CASE(a_candidate_that_another_race_ran_stays) {
  run(lost_race("run_1"));
  auto gone = open();
  const auto first = plan(*gone, {day_us, 0});
  scripted_race running{"run_2"};
  running.start().lose(1, 1, "x = 1\n");
  run(running);
  BOOST_REQUIRE(gone->run(first, evening_us, [](const gc_race&) {}));
  auto reader = store_reader::open(state);
  BOOST_REQUIRE(reader);
  BOOST_TEST(why(reader->load_candidate(digest_of_source("x = 1\n"))) == "");
  BOOST_TEST(failure(reader->load_candidate(digest_of_source("y = 1\n"))) == ec::not_found);
  BOOST_TEST(number("SELECT count(*) FROM pragma_foreign_key_check") == 0);
}

BOOST_AUTO_TEST_CASE(the_oldest_go_until_the_folder_is_small_enough) {
  for (int i = 0; i < 3; ++i) {
    auto race = lost_race("run_" + std::to_string(i));
    for (auto& x : race.events) {
      x.at_us += i * day_us;
    }
    run(race);
    std::ofstream{state + "/run_" + std::to_string(i) + "/big"} << std::string(1'000'000, 'x');
  }
  auto gc = open();
  const auto total = plan(*gc, {}).bytes;
  BOOST_TEST(total > 3'000'000U);
  const auto chosen = plan(*gc, {0, total - 1'500'000}).races;
  BOOST_REQUIRE(chosen.size() == 2U);
  BOOST_TEST(chosen[0].race.text == "run_0");
  BOOST_TEST(chosen[1].race.text == "run_1");
  BOOST_TEST(plan(*gc, {}).races.empty(), "without a limit nothing goes");
  BOOST_TEST(plan(*gc, {9 * day_us, 0}).races.size() == 2U);
}

BOOST_AUTO_TEST_CASE(leftovers_of_the_dead_go_and_those_of_the_living_stay) {
  scripted_race running{"run_live"};
  running.start();
  run(running);
  run(lost_race("run_over"));
  std::filesystem::create_directories(state + "/control");
  std::filesystem::create_directories(state + "/.gc_run_x/workers");
  for (const auto* name : {"control/run_live.sock", "control/run_over.sock", "control/run_begins.sock",
                           "run_over/.code.py.0123.tmp"}) {
    std::ofstream{state + "/" + name} << "x";
  }
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours{1};
  std::filesystem::last_write_time(state + "/run_over/.code.py.0123.tmp", old);
  const auto done = collect({});
  BOOST_TEST(done.races == 0U);
  BOOST_TEST(done.leftovers == 3U);
  BOOST_TEST(std::filesystem::exists(state + "/control/run_live.sock"));
  BOOST_TEST(std::filesystem::exists(state + "/control/run_begins.sock"));
  BOOST_TEST(!std::filesystem::exists(state + "/control/run_over.sock"));
  BOOST_TEST(!std::filesystem::exists(state + "/run_over/.code.py.0123.tmp"));
  BOOST_TEST(!std::filesystem::exists(state + "/.gc_run_x"));
}

BOOST_AUTO_TEST_SUITE_END()
