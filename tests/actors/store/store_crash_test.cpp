// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/store/skip.hpp"
#include "tests/actors/store/store_fixture.hpp"
#include "tests/actors/store/why.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>
#include <set>
#include <thread>

using namespace regatta;
using namespace regatta::test;

namespace {

/// crash_writer as a child, its stdout in a pipe.
class writer_process {
public:
  writer_process(const std::string& state, const std::string& prefix, int races) {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    auto program = environment("REGATTA_BIN_DIR") + "/store_crash_writer";
    auto folder = state;
    auto name = prefix;
    auto count = std::to_string(races);
    const std::array<char*, 5> arguments = {program.data(), folder.data(), name.data(), count.data(), nullptr};
    BOOST_REQUIRE(::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    out_ = ends[0];
  }
  writer_process(const writer_process&) = delete;
  writer_process& operator=(const writer_process&) = delete;
  ~writer_process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(out_);
  }

  /// Blocks until something was said; false at its end.
  bool read_some() {
    std::array<char, 4096> buffer{};
    const auto size = ::read(out_, buffer.data(), buffer.size());
    said.append(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return size > 0;
  }
  void kill_hard() { ::kill(pid_, SIGKILL); }
  /// Everything that it said, and its wait status.
  int join() {
    while (read_some()) {
    }
    int status = -1;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }
  /// Of whole lines only.
  std::set<std::string> committed_races() const {
    std::set<std::string> out;
    std::istringstream lines{said.substr(0, said.rfind('\n') + 1)};
    std::string word;
    std::string race;
    while (lines >> word >> race) {
      BOOST_TEST(word == "committed", said);
      out.insert(race);
    }
    return out;
  }

  std::string said;

private:
  pid_t pid_ = -1;
  int out_ = -1;
};

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
    writer_process writer{path, "run_k" + std::to_string(kill) + "_", 1'000'000};
    BOOST_REQUIRE_MESSAGE(writer.read_some(), "the store opens after kill " << kill);
    busy_wait(std::chrono::microseconds{std::uniform_int_distribution{0, 20'000}(random)});
    writer.kill_hard();
    writer.join();
    promised.merge(writer.committed_races());
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
  writer_process first{path, "run_a", 25};
  writer_process second{path, "run_b", 25};
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
