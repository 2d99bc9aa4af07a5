// SPDX-License-Identifier: Apache-2.0
// A race that a former process began: its rows and its files go on.
#include "actors/race_standing.hpp"
#include "tests/actors/store/ledger_bench.hpp"
#include "tests/actors/store/state_folder.hpp"
#include "tests/actors/store/store_fixture.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace regatta;
using namespace regatta::test;

namespace {

struct resumed_folder : state_folder {
  /// Begun and killed in round 1 of worker 2, with its files; `files` says whether the process came to write any.
  scripted_race killed(bool has_files) {
    scripted_race race{"run_1"};
    race.start().lose(1, 1, "x = 1\n").ask(2, 1, "half");
    if (has_files) {
      running_store store{state};
      store.tell(race);
      pay(store, race);
      BOOST_REQUIRE(store.ask(commit{race.spec.race, race.events.size()}));
    } else {
      ledger_process before{state, dead_process(1)};
      before.tell(race);
    }
    return race;
  }
  /// What a second process adds.
  static scripted_race go_on(scripted_race race) {
    const auto from = race.events.size();
    race.add(race_resumed{"0.2.0", 1, 2, 2, 1, 5, std::chrono::seconds{0}, {9'000, 0}});
    race.add(worker_started{make_worker_id(2), node_id{"host-a"}, 2, 1, 1, race.spec.workers[1].choice});
    race.win(2, 1, "y = 2\n");
    race.finish(2, worker_end::won, "");
    race.end(race_end::won, "pass via run_tests at iter 1", 2, 1);
    auto& ended = std::get<race_ended>(race.events.back().body);
    ended.cost = 360;
    ended.resumes = 1;
    race.events.erase(race.events.begin(), race.events.begin() + static_cast<std::ptrdiff_t>(from));
    return race;
  }
  nlohmann::json summary() const {
    return nlohmann::json::parse(read_file(state + "/run_1/orchestrator/summary.json"));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resumed_races, resumed_folder)

BOOST_AUTO_TEST_CASE(a_resumed_race_appends_to_its_run_directory) {
  const auto more = go_on(killed(true));
  const auto log_before = read_file(state + "/run_1/orchestrator/orchestrator.log");
  running_store store{state};
  store.tell(more);
  const auto answer = store.ask(commit{more.spec.race, more.events.back().seq});
  BOOST_REQUIRE_MESSAGE(answer, why(answer));
  BOOST_TEST(answer->artifact_path == state + "/run_1/result.tar.gz");
  const auto log = read_file(state + "/run_1/orchestrator/orchestrator.log");
  BOOST_TEST(log.starts_with(log_before));
  BOOST_TEST(log.find("resumed") != std::string::npos);
  BOOST_TEST(read_file(state + "/run_1/workers/worker_01/artifacts/latest/code.py") == "x = 1\n");
  const auto told = summary();
  BOOST_TEST(told["winner_worker_id"] == "worker_02");
  BOOST_TEST(told["totals"]["resumes"] == 1);
  BOOST_TEST(told["totals"]["cost"] == 360e-9);
  BOOST_TEST(told["budget"]["money"] == 9'000e-9);
  BOOST_TEST(told["workers"][0]["llm_calls"] == 1);
  BOOST_TEST(told["workers"][1]["llm_calls"] == 2);
  BOOST_TEST(told["workers"][1]["starts"] == 2);
  const auto record = load("run_1");
  BOOST_TEST(record.race.end == "won");
  BOOST_TEST(record.race.resumes == 1U);
  BOOST_TEST(record.race.rounds == 5U);
  BOOST_TEST(record.workers[1].starts == 2U);
}

BOOST_AUTO_TEST_CASE(files_that_a_killed_process_could_not_write_are_made_from_its_events) {
  const auto more = go_on(killed(false));
  BOOST_TEST(!std::filesystem::exists(state + "/run_1"));
  running_store store{state};
  store.tell(more);
  BOOST_REQUIRE(store.ask(commit{more.spec.race, more.events.back().seq}));
  BOOST_TEST(read_file(state + "/run_1/workers/worker_01/artifacts/iteration_1/code.py") == "x = 1\n");
  BOOST_TEST(read_file(state + "/run_1/workers/worker_01/prompts/iteration_1.txt") == "Solve softmax.");
  BOOST_TEST(std::filesystem::exists(state + "/run_1/orchestrator/metadata.json"));
  BOOST_TEST(summary()["workers"][0]["last_failure"] == "exit status 1");
}

BOOST_AUTO_TEST_CASE(field_failures_95_files_of_a_run_are_never_read_back) {
  const auto more = go_on(killed(true));
  std::ofstream{state + "/run_1/workers/worker_01/state.json"} << "{ torn";
  std::ofstream{state + "/run_1/orchestrator/summary.json"} << "{ torn, and from before";
  const auto standing = load_standing(state, race_id{"run_1"});
  BOOST_REQUIRE_MESSAGE(standing, why(standing));
  BOOST_TEST(standing->standing.workers[0].progress.round == 2U);
  running_store store{state};
  store.tell(more.events.front());
  BOOST_REQUIRE(store.ask(commit{more.spec.race, more.events.front().seq}));
  BOOST_TEST(!std::filesystem::exists(state + "/run_1/orchestrator/summary.json"), "it is not over any more");
  BOOST_TEST(nlohmann::json::parse(read_file(state + "/run_1/workers/worker_01/state.json"))["iter_index"] == 1);
}

BOOST_AUTO_TEST_CASE(field_failures_94_kept_files_of_an_evaluation_are_there_for_the_process_that_goes_on) {
  scripted_race race{"run_1"};
  auto result = scripted_race::result(true);
  result.kept = {{"out.csv", std::string{"a\0b", 3}, ""}};
  race.start().ask(1, 1, "x").find(1, 1, "x = 1\n").evaluate(1, 1, "x = 1\n", result);
  {
    ledger_process before{state, dead_process(1)};
    before.tell(race);
  }
  const auto standing = load_standing(state, race.spec.race);
  BOOST_REQUIRE_MESSAGE(standing, why(standing));
  const auto& known = standing->standing.workers[0].progress.evaluated;
  BOOST_REQUIRE(known.size() == 1U);
  BOOST_REQUIRE(known[0].result.kept.size() == 1U);
  BOOST_TEST((known[0].result.kept[0].content == std::string{"a\0b", 3}));
}

BOOST_AUTO_TEST_CASE(field_failures_100_a_candidate_that_was_never_run_is_on_record_with_its_reason) {
  scripted_race race{"run_1"};
  race.start().ask(1, 1, "no code");
  race.add(code_extracted{make_worker_id(1), 1, 1, extraction::no_code, "no block in 7 bytes", "", {}});
  race.add(round_failed{make_worker_id(1), 1, "no_code", "EXTRACT_FAIL: no_code"});
  {
    running_store store{state};
    store.tell(race);
  }
  const auto record = load("run_1");
  BOOST_REQUIRE(record.rounds.size() == 1U);
  BOOST_TEST(record.rounds[0].extraction == "no_code");
  BOOST_TEST(record.rounds[0].extraction_note == "no block in 7 bytes");
  BOOST_TEST(record.rounds[0].why == "no_code");
}

BOOST_AUTO_TEST_SUITE_END()
