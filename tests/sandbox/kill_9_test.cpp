// SPDX-License-Identifier: Apache-2.0
// kill -9 of whoever holds a runner.
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace regatta::sandbox::test {

namespace {

const char* const daemons = R"(
import os, signal, time
for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(n, signal.SIG_IGN)
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        time.sleep(600)
time.sleep(600)
)";

/// A program that holds a runner: ourselves, forked before any thread exists here. It is killed once its run has a
/// family; before that its forkers and all of the run are stopped, if asked for.
struct killed_program {
  std::vector<pid_t> parents;  ///< Forker, and zygote if any.
  std::vector<pid_t> family;   ///< Of the run.
};

killed_program kill_a_program(bool stops, pid_t& pid) {
  int ready[2];
  BOOST_REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  pid = ::fork();
  if (pid == 0) {
    std::string error;
    const auto sandbox = runner::open(config_for_level(), host().facts, error);
    if (!sandbox) {
      ::_exit(1);
    }
    sandbox->start(python_spec(daemons), [](run_result) {});
    // In a child of the test program a failed check would be told by nobody; the parent looks again.
    for (int i = 0; i < 1000 && survivors().size() < 2; ++i) {
      ::usleep(5'000);  // nobody tells when the candidate has forked
    }
    auto all = zygote_pids();
    all.push_back(forker_pid());
    const auto family = survivors();
    all.insert(all.end(), family.begin(), family.end());
    for (const auto one : all) {
      ::kill(one, stops ? SIGSTOP : 0);
    }
    [[maybe_unused]] const auto written = ::write(ready[1], all.data(), all.size() * sizeof(pid_t));
    ::pause();
    ::_exit(0);
  }
  ::close(ready[1]);
  std::vector<pid_t> all(64, -1);
  const auto bytes = ::read(ready[0], all.data(), all.size() * sizeof(pid_t));
  all.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(pid_t));
  const std::ptrdiff_t parents = host().is_warm ? 2 : 1;
  BOOST_REQUIRE(std::ssize(all) > parents);
  ::close(ready[0]);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return {{all.begin(), all.begin() + parents}, {all.begin() + parents, all.end()}};
}

/// The forker outlives its runner for the moment that it takes to remove the cgroups.
bool is_soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) {
      return true;
    }
    ::usleep(10'000);  // the forker is nobody's child any more, so its end is not told
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lifetime)

BOOST_AUTO_TEST_CASE(kill_9_of_the_program_leaves_nothing_alive) {
  for (const bool stops : {false, true}) {
    const leaves_nothing guard;
    pid_t pid = -1;
    const auto killed = kill_a_program(stops, pid);
    BOOST_TEST(are_all_gone());
    for (const auto one : killed.family) {
      BOOST_TEST(is_soon([one] { return ::kill(one, 0) != 0 && errno == ESRCH; }), "stopped: " << stops);
    }
    BOOST_TEST(is_soon([pid] { return cgroups_of(pid).empty(); }), "stopped: " << stops);
    for (const auto parent : killed.parents) {
      BOOST_TEST(is_soon([parent] { return ::kill(parent, 0) != 0; }), "stopped: " << stops);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
