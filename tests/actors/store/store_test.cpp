// SPDX-License-Identifier: Apache-2.0
#include "actors/store.hpp"

#include "actors/store_database.hpp"
#include "actors/store_migrations.hpp"
#include "actors/store_owner.hpp"
#include "actors/store_schema.hpp"
#include "tests/actors/store/skip.hpp"
#include "tests/actors/store/state_folder.hpp"
#include "tests/actors/store/store_fixture.hpp"
#include "tests/actors/store/why.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

using namespace regatta;
using namespace regatta::test;

namespace {

std::string id_of(const caf::expected<race_id>& found) {
  return found ? found->text : why(found);
}

void require(const caf::expected<committed>& answer) {
  BOOST_REQUIRE_MESSAGE(answer, why(answer));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(stores, state_folder)

BOOST_AUTO_TEST_CASE(a_commit_is_answered_when_database_and_files_have_everything) {
  running_store store{state};
  const auto race = won_race("run_1");
  store.tell(race);
  const auto answer = store.ask({race.spec.race, race.events.size()});
  require(answer);
  BOOST_TEST(answer->artifact_path == state + "/run_1/result.tar.gz");
  BOOST_TEST(std::filesystem::exists(answer->artifact_path));
  BOOST_TEST(std::filesystem::exists(state + "/run_1/orchestrator/summary.json"));
  const auto record = load("run_1");
  BOOST_TEST(record.race.end == "won");
  BOOST_TEST(record.race.last_seq == race.events.size());
}

BOOST_AUTO_TEST_CASE(a_race_can_be_told_again_from_its_rows) {
  auto result = scripted_race::result(true);
  result.judge_record = R"({"judge_version":2,"marks":["weights_transplanted"],"kernel_evidence":"seen","problem_sha256":"ab",
    "tolerances":{"float32":{"atol":0.5}},"trials":[{"init_seed":7,"norm":0.25,"worst_rel":null},{"norm":0.5}],"compiled":[]})";
  result.kept = {{"out.csv", std::string{"\0\xFF", 2}, ""}, {"missing", "", "absent"}};
  {
    running_store store{state};
    const auto race = won_race("run_1", result);
    store.tell(race);
    pay(store, race);
  }
  const auto record = load("run_1");
  BOOST_TEST(record.race.problem == "softmax");
  BOOST_TEST(record.race.stage == "kernel");
  BOOST_TEST(record.race.winner.text == "worker_02");
  BOOST_TEST(record.race.winner_round == 2U);
  BOOST_TEST(record.race.standing == "claimed, not verified");
  BOOST_TEST(record.race.quiet.count() == 20'000);
  BOOST_TEST(record.race.unconfirmed_nodes == std::vector<std::string>{"host-z"}, boost::test_tools::per_element());
  BOOST_TEST(record.race.owner.pid == ::getpid());
  BOOST_TEST(record.race.artifact_path == state + "/run_1/result.tar.gz");
  BOOST_REQUIRE(record.workers.size() == 2U);
  BOOST_TEST(record.workers[1].end == "won");
  BOOST_TEST(record.workers[1].input_tokens == 200U);
  BOOST_TEST(record.workers[1].evaluations == 2U);
  BOOST_TEST((record.workers[1].choice.temperature == 0.5));
  BOOST_TEST((record.workers[1].choice.seed == std::nullopt));
  BOOST_REQUIRE(record.rounds.size() == 3U);
  BOOST_TEST(record.rounds[0].why == "exit status 1");
  BOOST_TEST(record.rounds[0].extraction == "found");
  BOOST_TEST(record.rounds[2].has_won);
  BOOST_REQUIRE(record.evaluations.size() == 3U);
  BOOST_TEST(record.evaluations[2].outcome == "exited");
  BOOST_TEST(record.evaluations[2].claim == "run_tests");
  BOOST_TEST(record.evaluations[2].sandbox_level == "L4");
  BOOST_TEST(record.evaluations[0].judge_version == 0U);
  BOOST_TEST(record.evaluations[2].judge_version == 2U);
  BOOST_TEST(record.evaluations[2].marks == R"(["weights_transplanted"])");
  BOOST_TEST(record.evaluations[2].kernel_evidence == "seen");
  BOOST_TEST(record.evaluations[2].tolerances == R"({"float32":{"atol":0.5}})");
  BOOST_TEST(record.evaluations[2].trial_count == 2U);
  BOOST_TEST(record.evaluations[2].norm == 0.5);
  BOOST_TEST(record.evaluations[2].worst_rel == 0);
  BOOST_REQUIRE(record.llm_calls.size() == 3U);
  BOOST_TEST(record.llm_calls[0].outcome == "replied");
  BOOST_TEST(*record.llm_calls[0].usage.output_tokens == 20U);
  BOOST_TEST(record.llm_calls[0].basis == "usage");
  BOOST_TEST(record.llm_calls[0].is_answer);
  BOOST_TEST(record.race.cost == 3 * 120);
  BOOST_TEST(record.workers[1].cost == 2 * 120);
  auto reader = store_reader::open(state);
  BOOST_REQUIRE(reader);
  BOOST_TEST(*reader->load_candidate(digest_of_source("y = 2\n")) == "y = 2\n");
  BOOST_TEST(failure(reader->load_candidate(source_digest{"none"})) == ec::not_found);
  BOOST_TEST(number("SELECT length(content) FROM artifacts WHERE name = 'out.csv'") == 2);
  BOOST_TEST(number("SELECT count(*) FROM artifacts WHERE content IS NULL AND problem = 'absent'") == 1);
}

BOOST_AUTO_TEST_CASE(deltas_are_not_stored_and_every_other_event_is) {
  const auto race = won_race("run_1");
  {
    running_store store{state};
    store.tell(race);
  }
  const auto deltas = std::count_if(race.events.begin(), race.events.end(),
                                    [](const auto& x) { return std::holds_alternative<reply_delta>(x.body); });
  BOOST_TEST(deltas > 0);
  BOOST_TEST(number("SELECT count(*) FROM events") == static_cast<std::int64_t>(race.events.size()) - deltas);
  BOOST_TEST(number("SELECT count(*) FROM events WHERE json_extract(body, '$.kind') = kind") ==
             number("SELECT count(*) FROM events"));
}

BOOST_AUTO_TEST_CASE(events_wait_for_company_no_longer_than_the_batch_delay) {
  running_store store{state};
  store.tell(won_race("run_1"));
  // Polled, as nothing tells a stranger that a batch was written; the store itself is never asked.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (number("SELECT count(*) FROM races WHERE end = 'won'") == 0 && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  BOOST_TEST(number("SELECT count(*) FROM races WHERE end = 'won'") == 1);
}

BOOST_AUTO_TEST_CASE(a_store_opened_again_knows_what_the_last_one_wrote) {
  const auto race = won_race("run_1");
  {
    running_store store{state};
    store.tell(race);
    require(store.ask({race.spec.race, race.events.size()}));
  }
  running_store again{state};
  const auto answer = again.ask({race.spec.race, race.events.size()});
  require(answer);
  BOOST_TEST(answer->artifact_path == state + "/run_1/result.tar.gz");
  BOOST_TEST(failure(again.ask({race.spec.race, race.events.size() + 1})) == ec::store_failed);
}

BOOST_AUTO_TEST_CASE(a_commit_of_what_never_came_is_refused) {
  running_store store{state};
  BOOST_TEST(failure(store.ask({race_id{"run_9"}, 1})) == ec::store_failed);
  const auto race = lost_race("run_1");
  store.tell(race);
  BOOST_TEST(failure(store.ask({race.spec.race, race.events.size() + 5})) == ec::store_failed);
  require(store.ask({race.spec.race, race.events.size()}));
}

BOOST_AUTO_TEST_CASE(an_event_that_the_tables_refuse_fails_its_own_race_only) {
  running_store store{state};
  auto bad = lost_race("run_bad");
  bad.events[1].body = worker_started{worker_id{"nobody"}, node_id{"host-a"}, 1, 1, 0, {}};
  const auto good = lost_race("run_good");
  for (std::size_t i = 0; i < good.events.size(); ++i) {
    store.tell(bad.events[i]);
    store.tell(good.events[i]);
  }
  require(store.ask({good.spec.race, good.events.size()}));
  const auto refused = store.ask({bad.spec.race, bad.events.size()});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(failure(refused) == ec::store_failed);
  BOOST_TEST(why(refused).find("worker_started 2") != std::string::npos, why(refused));
  BOOST_TEST(load("run_bad").race.end == "no_passing_solution");
}

BOOST_AUTO_TEST_CASE(a_second_race_with_the_same_id_is_refused_and_changes_nothing) {
  const auto first = lost_race("run_1");
  {
    running_store store{state};
    store.tell(first);
    // The same events again are the same race.
    store.tell(first);
    require(store.ask({first.spec.race, first.events.size()}));
  }
  const auto rows = number("SELECT count(*) FROM events");
  auto second = won_race("run_1");
  for (auto& x : second.events) {
    x.at_us += 1;
  }
  running_store store{state};
  store.tell(second);
  const auto refused = store.ask({second.spec.race, second.events.size()});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(why(refused).find("another race with the id run_1") != std::string::npos, why(refused));
  BOOST_TEST(number("SELECT count(*) FROM events") == rows);
  BOOST_TEST(load("run_1").race.end == "no_passing_solution");
  BOOST_TEST(!std::filesystem::exists(state + "/run_1/result.tar.gz"));
}

BOOST_AUTO_TEST_CASE(a_unique_candidate_is_a_duplicate_of_nobody) {
  running_store store{state};
  auto race = lost_race("run_1");
  const auto digest = digest_of_source("pass\n");
  race.add(candidate_reserved{make_worker_id(2), 2, 1, digest, duplicate::duplicate_cross_worker, make_worker_id(1)});
  store.tell(race);
  require(store.ask({race.spec.race, race.events.size()}));
  BOOST_TEST(number("SELECT count(*) FROM rounds WHERE duplicate = 'unique'") > 0);
  BOOST_TEST(number("SELECT count(*) FROM rounds WHERE duplicate = 'unique' AND duplicate_of IS NOT NULL") == 0);
  BOOST_TEST(number("SELECT count(*) FROM rounds WHERE duplicate_of = 'worker_01'") == 1);
}

BOOST_AUTO_TEST_CASE(two_stores_may_write_one_folder_at_once) {
  running_store first{state};
  running_store second{state};
  for (int i = 0; i < 20; ++i) {
    first.tell(won_race("run_a" + std::to_string(i)));
    second.tell(lost_race("run_b" + std::to_string(i)));
  }
  const auto last_a = won_race("run_a19");
  const auto last_b = lost_race("run_b19");
  require(first.ask({last_a.spec.race, last_a.events.size()}));
  require(second.ask({last_b.spec.race, last_b.events.size()}));
  BOOST_TEST(number("SELECT count(*) FROM races WHERE ended_us IS NOT NULL") == 40);
  auto reader = store_reader::open(state);
  BOOST_REQUIRE(reader);
  BOOST_TEST(reader->list_races()->size() == 40U);
  BOOST_TEST(reader->list_races(3)->size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_newer_schema_is_refused_with_both_numbers) {
  { running_store store{state}; }
  {
    auto db = database::open(state + "/regatta.db", database_access::read_write);
    BOOST_REQUIRE(db);
    BOOST_REQUIRE(!(*db)->script("PRAGMA user_version = 99"));
  }
  const auto expected = "has schema 99, this program knows " + std::to_string(store_schema_version);
  const auto opened = open_store(state);
  BOOST_REQUIRE(!opened);
  BOOST_TEST(failure(opened) == ec::store_failed);
  BOOST_TEST(why(opened).find(expected) != std::string::npos, why(opened));
  const auto reader = store_reader::open(state);
  BOOST_REQUIRE(!reader);
  BOOST_TEST(why(reader).find(expected) != std::string::npos, why(reader));
}

BOOST_AUTO_TEST_CASE(a_strangers_database_and_a_folder_without_one_are_refused) {
  BOOST_TEST(failure(store_reader::open(state)) == ec::not_found);
  std::filesystem::create_directories(state);
  {
    auto db = database::open(state + "/regatta.db", database_access::read_write);
    BOOST_REQUIRE(db);
    BOOST_REQUIRE(!(*db)->script("CREATE TABLE mine(x); PRAGMA user_version = 1"));
  }
  BOOST_TEST(why(open_store(state)).find("but not Regatta's") != std::string::npos);
  std::filesystem::remove(state + "/regatta.db");
  std::ofstream{state + "/regatta.db"} << std::string(8192, 'x');
  BOOST_TEST(failure(open_store(state)) == ec::store_failed);
  for (const auto& text : {why(open_store(state)), why(store_reader::open(state))}) {
    BOOST_TEST(text.find("\"" + state + "/regatta.db\" is damaged or no store (") != std::string::npos, text);
    BOOST_TEST(text.find("move it away, or name another state folder") != std::string::npos, text);
  }
  std::ofstream{path + "/file"} << "x";
  BOOST_TEST(failure(open_store(path + "/file")) == ec::io_failed);
}

BOOST_AUTO_TEST_CASE(a_store_that_is_damaged_in_its_middle_is_refused_when_it_is_opened) {
  {
    running_store store{state};
    for (int i = 0; i < 20; ++i) {
      store.tell(won_race("run_" + std::to_string(i)));
    }
  }
  const auto file = state + "/regatta.db";
  const auto pages = number("PRAGMA page_count");
  const auto size = number("PRAGMA page_size");
  BOOST_REQUIRE(pages > 40);
  {
    std::fstream bytes{file, std::ios::in | std::ios::out | std::ios::binary};
    bytes.seekp(pages / 2 * size);
    bytes << std::string(static_cast<std::size_t>(4 * size), '\xA5');
  }
  const auto opened = open_store(state);
  BOOST_REQUIRE(!opened);
  BOOST_TEST(failure(opened) == ec::store_failed);
  BOOST_TEST(why(opened).find("\"" + file + "\" is damaged or no store (") != std::string::npos, why(opened));
  BOOST_TEST(why(opened).find('\n') == std::string::npos, why(opened));
  BOOST_TEST(static_cast<bool>(open_store(state, std::chrono::milliseconds{0})), "whoever has looked already");
}

BOOST_AUTO_TEST_CASE(network_file_systems_are_known_by_name) {
  BOOST_TEST(network_file_system(0x6969) == "NFS");
  BOOST_TEST(network_file_system(0x0BD00BD0) == "Lustre");
  BOOST_TEST(network_file_system(0x65735546) == "FUSE");
  BOOST_TEST(network_file_system(0xEF53).empty(), "ext4");
  BOOST_TEST(network_file_system(0x01021994).empty(), "tmpfs");
}

BOOST_AUTO_TEST_CASE(a_run_is_found_by_its_beginning_if_only_one_fits) {
  {
    running_store store{state};
    store.tell(won_race("run_20261130_a"));
    store.tell(won_race("run_20261130_b"));
    store.tell(won_race("run_20261130_bc"));
  }
  auto reader = store_reader::open(state);
  BOOST_REQUIRE(reader);
  BOOST_TEST(id_of(reader->find_race("run_20261130_a")) == "run_20261130_a");
  BOOST_TEST(id_of(reader->find_race("run_20261130_b")) == "run_20261130_b");
  BOOST_TEST(id_of(reader->find_race("latest")) == "run_20261130_bc");
  const auto many = reader->find_race("run_2026");
  BOOST_REQUIRE(!many);
  BOOST_TEST(why(many).find("may mean run_20261130_a, run_20261130_b") != std::string::npos);
  BOOST_TEST(failure(reader->find_race("../../etc/passwd")) == ec::not_found);
  BOOST_TEST(failure(reader->find_race("%")) == ec::not_found);
  BOOST_TEST(failure(reader->load_race(race_id{"run_none"})) == ec::unknown_race);
}

BOOST_AUTO_TEST_CASE(an_owner_is_known_to_live_or_to_be_gone) {
  auto owner = this_process();
  BOOST_TEST(owner.start_ticks > 0U);
  BOOST_TEST(may_be_alive(owner));
  owner.start_ticks += 1;
  BOOST_TEST(!may_be_alive(owner), "another process got the same pid");
  owner.host = "elsewhere";
  BOOST_TEST(may_be_alive(owner), "nothing can be seen of another host");
}

BOOST_AUTO_TEST_CASE(texts_that_are_not_utf8_are_stored_readable) {
  auto race = lost_race("run_1");
  std::get<worker_finished>(race.events[race.events.size() - 2].body).reason = "bad \xFF\xC0 bytes";
  {
    running_store store{state};
    store.tell(race);
  }
  BOOST_TEST(load("run_1").workers[1].reason == "bad \xEF\xBF\xBD\xEF\xBF\xBD bytes");
  BOOST_TEST(well_formed_utf8("\xF0\x9F\x9A\xA3 \xED\xA0\x80") ==
             "\xF0\x9F\x9A\xA3 \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_named_and_nothing_is_lost_once_there_is_room) {
  std::filesystem::create_directories(state);
  const small_disk disk{state};
  if (disk.failure() != 0) {
    return skip("tmpfs", std::string{"cannot mount a small tmpfs: "} + std::strerror(disk.failure()));
  }
  const auto ballast = state + "/ballast";
  {
    running_store store{state};
    const auto before = lost_race("run_1");
    store.tell(before);
    require(store.ask({before.spec.race, before.events.size()}));
    {
      std::ofstream fill{ballast, std::ios::binary};
      while (fill.write(std::string(65'536, 'x').data(), 65'536) && fill.flush()) {
      }
    }
    const auto during = won_race("run_2");
    store.tell(during);
    const auto full = store.ask({during.spec.race, during.events.size()});
    BOOST_REQUIRE(!full);
    BOOST_TEST(failure(full) == ec::store_full);
    BOOST_TEST(why(full).find("full") != std::string::npos, why(full));
    const auto after = lost_race("run_3");
    store.tell(after);
    BOOST_TEST(failure(store.ask({after.spec.race, after.events.size()})) == ec::store_full);
    std::filesystem::remove(ballast);
    require(store.ask({after.spec.race, after.events.size()}));
    const auto answer = store.ask({during.spec.race, during.events.size()});
    require(answer);
    BOOST_TEST(std::filesystem::exists(answer->artifact_path));
    const auto notes = store.said();
    BOOST_REQUIRE(notes.size() >= 2U);
    BOOST_TEST(notes.front().find("store_full") != std::string::npos, notes.front());
    BOOST_TEST(notes.back() == "the store writes again");
  }
  BOOST_TEST(load("run_1").race.end == "no_passing_solution");
  BOOST_TEST(load("run_2").race.end == "won");
  BOOST_TEST(load("run_3").race.end == "no_passing_solution");
  BOOST_TEST(number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
