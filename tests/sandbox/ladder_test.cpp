// SPDX-License-Identifier: Apache-2.0
// Which level a host gets, and what a level without namespaces still holds.
#include "sandbox/confinement.hpp"
#include "sandbox/pid_fence.hpp"
#include "sandbox/linux_api.hpp"
#include "tests/sandbox/support/environments.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <string>

namespace regatta::sandbox::test {

namespace {

struct found {
  bool is_there = false;  ///< The environment could be had.
  level best = level::none;
  std::string obstacles;
};

/// probe() in a child that lives there.
found probe_in(environment where) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  const auto pid = ::fork();
  if (pid == 0) {
    std::string answer = "-";
    if (enter(where)) {
      const auto facts = probe();
      answer = std::to_string(static_cast<int>(facts.best));
      for (const auto& obstacle : facts.obstacles) {
        answer += obstacle + "\n";
      }
    }
    [[maybe_unused]] const auto written = ::write(ends[1], answer.data(), answer.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string answer;
  char piece[4096];
  for (ssize_t size = 0; (size = ::read(ends[0], piece, sizeof piece)) > 0;) {
    answer.append(piece, static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  BOOST_REQUIRE(!answer.empty());
  return {answer[0] != '-', static_cast<level>(answer[0] - '0'), answer.substr(1)};
}

bool is_root() {
  if (::geteuid() == 0) {
    return true;
  }
  leave_out_case("sandbox", "other environments are entered as root");
  return false;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ladder)

BOOST_AUTO_TEST_CASE(each_environment_gets_the_highest_level_that_it_can_hold) {
  if (!is_root()) {
    return;
  }
  const auto user = probe_in(environment::ordinary_user);
  BOOST_TEST((user.best == level::namespaced), user.obstacles);
  const auto docker = probe_in(environment::docker_root);
  BOOST_TEST((docker.is_there && docker.best == level::slot_uid), docker.obstacles);
  BOOST_TEST(has(docker.obstacles, "--cap-add SYS_ADMIN --security-opt seccomp=unconfined"), docker.obstacles);
  const auto docker_user = probe_in(environment::docker_user);
  BOOST_TEST((docker_user.best == level::confined), docker_user.obstacles);
  BOOST_TEST(has(docker_user.obstacles, "user namespaces"), docker_user.obstacles);
  const auto bare = probe_in(environment::no_capabilities);
  BOOST_TEST((bare.best == level::confined), bare.obstacles);
  BOOST_TEST(has(bare.obstacles, "CAP_SETUID"), bare.obstacles);
  const auto old = probe_in(environment::no_landlock);
  BOOST_TEST((old.is_there && old.best == level::none), old.obstacles);
  BOOST_TEST(has(old.obstacles, "no Landlock"), old.obstacles);
}

BOOST_AUTO_TEST_CASE(a_level_asked_for_becomes_the_next_lower_one_that_the_host_has) {
  host_facts facts;
  facts.best = level::full;
  facts.can_confine = facts.can_use_slot_uid = true;
  BOOST_TEST((attainable(facts, level::full) == level::full));
  BOOST_TEST((attainable(facts, level::slot_uid) == level::slot_uid));
  facts.can_use_slot_uid = false;
  BOOST_TEST((attainable(facts, level::slot_uid) == level::confined));
  facts.can_confine = false;
  BOOST_TEST((attainable(facts, level::confined) == level::none));
  BOOST_TEST((attainable(facts, level::namespaced) == level::namespaced));
}

BOOST_AUTO_TEST_CASE(a_level_below_the_required_one_is_refused_with_what_would_raise_it_and_what_would_do) {
  auto facts = host().facts;
  facts.best = level::slot_uid;
  facts.can_confine = facts.can_use_slot_uid = true;
  facts.obstacles = {"add the flag"};
  std::string error;
  runner_config config;
  BOOST_TEST(!runner::open(config, facts, error));
  BOOST_TEST(error.starts_with("sandbox level L2 found, L3 required\n  add the flag\n  --require-level L2 says"), error);
}

BOOST_AUTO_TEST_CASE(the_fence_refuses_those_who_were_there_before_and_everybody_at_once) {
  const auto pid = ::fork();
  if (pid == 0) {
    // Our child stands for one of the run's own, a later number.
    const auto own = ::fork();
    if (own == 0) {
      ::pause();
      ::_exit(0);
    }
    const auto fence = pid_fence(::getppid());
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    bool ok = linux_api::install_seccomp(fence.data(), static_cast<unsigned short>(fence.size())) == 0;
    for (const pid_t other : {1, ::getppid(), -1, -::getppid()}) {
      ok = ok && ::kill(other, 0) != 0 && errno == EPERM;
    }
    ok = ok && ::kill(0, 0) == 0 && ::kill(::getpid(), 0) == 0 && ::kill(own, SIGKILL) == 0;
    ::waitpid(own, nullptr, 0);
    ::_exit(ok ? 0 : 1);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
