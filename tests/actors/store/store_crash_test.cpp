// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/store/child_process.hpp"
#include "tests/actors/store/store_fixture.hpp"
#include "tests/actors/store/why.hpp"

#include <boost/test/unit_test.hpp>

#include <random>
#include <set>
#include <sstream>
#include <thread>

using namespace regatta;
using namespace regatta::test;

namespace {

child_process crash_writer(const std::string& state, const std::string& prefix, int races) {
  return child_process{"store_crash_writer", {state, prefix, std::to_string(races)}};
}

/// Of whole lines only.
std::set<std::string> committed_races(const child_process& x) {
  std::set<std::string> out;
  std::istringstream lines{x.said.substr(0, x.said.rfind('\n') + 1)};
  std::string word;
  std::string race;
  while (lines >> word >> race) {
    BOOST_TEST(word == "committed", x.said);
    out.insert(race);
  }
  return out;
}

void busy_wait(std::chrono::microseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(store_crashes, scratch_folder)

BOOST_AUTO_TEST_CASE(after_thirty_kills_the_store_opens_and_has_every_acknowledged_commit) {
  constexpr unsigned seed = 20261130;
  std::mt19937 random{seed};
  std::set<std::string> promised;
  for (int kill = 0; kill < 30; ++kill) {
    auto writer = crash_writer(path, "run_k" + std::to_string(kill) + "_", 1'000'000);
    BOOST_REQUIRE_MESSAGE(writer.read_some(), "the store opens after kill " << kill);
    busy_wait(std::chrono::microseconds{std::uniform_int_distribution{0, 20'000}(random)});
    writer.kill_hard();
    writer.join();
    promised.merge(committed_races(writer));
  }
  BOOST_TEST(promised.size() >= 30U);
  auto reader = store_reader::open(path);
  BOOST_REQUIRE_MESSAGE(reader, why(reader));
  for (const auto& id : promised) {
    const auto record = reader->load_race(race_id{id});
    BOOST_REQUIRE_MESSAGE(record, id);
    BOOST_TEST(record->race.end == "won", id);
    BOOST_TEST(record->evaluations.size() == 3U, id);
    BOOST_TEST(std::filesystem::exists(path + "/" + id + "/orchestrator/summary.json"), id);
    BOOST_TEST(std::filesystem::exists(path + "/" + id + "/result.tar.gz"), id);
  }
}

BOOST_AUTO_TEST_CASE(two_processes_write_one_store_at_once) {
  auto first = crash_writer(path, "run_a", 25);
  auto second = crash_writer(path, "run_b", 25);
  BOOST_TEST(first.join() == 0, first.said);
  BOOST_TEST(second.join() == 0, second.said);
  auto reader = store_reader::open(path);
  BOOST_REQUIRE_MESSAGE(reader, why(reader));
  const auto races = reader->list_races();
  BOOST_REQUIRE(races);
  BOOST_TEST(races->size() == 50U);
  std::set<std::int64_t> owners;
  for (const auto& race : *races) {
    BOOST_TEST(race.end == "won");
    owners.insert(race.owner.pid);
  }
  BOOST_TEST(owners.size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
