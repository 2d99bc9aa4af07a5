// SPDX-License-Identifier: Apache-2.0
#include "cli/control_socket.hpp"

#include "cli/exit_codes.hpp"
#include "messages/error.hpp"
#include "tests/cli/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace regatta::cli {

BOOST_AUTO_TEST_SUITE(control_sockets)

BOOST_AUTO_TEST_CASE(a_program_that_dies_with_the_question_in_its_queue_is_not_running) {
  const test::scratch_folder folder;
  const race_id race{"run_1"};
  auto server = control_server::open(folder.path(), race);
  BOOST_REQUIRE(server);
  // As a killed program: it takes connections until its descriptors are closed, and answers none.
  std::thread dying{[&] {
    pollfd ready{(*server)->fd(), POLLIN, 0};
    ::poll(&ready, 1, 10'000);
    server->reset();
  }};
  const auto answer = ask_race(folder.path(), race, "status");
  dying.join();
  BOOST_REQUIRE(!answer);
  BOOST_TEST((code_of(answer.error()) == ec::not_found), text_of(answer.error()));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_stopped_is_named_and_finds_the_question_when_it_goes_on) {
  const test::scratch_folder folder;
  const race_id race{"run_1"};
  int asked[2];
  BOOST_REQUIRE(::pipe2(asked, O_CLOEXEC) == 0);
  const auto child = ::fork();
  if (child == 0) {
    auto server = control_server::open(folder.path(), race);
    ::raise(SIGSTOP);
    std::string request;
    for (int i = 0; server && request.empty() && i < 100; ++i) {
      pollfd ready{(*server)->fd(), POLLIN, 0};
      ::poll(&ready, 1, 1'000);
      (*server)->serve([&](const std::string& x) { return request = x; });
    }
    [[maybe_unused]] const auto written = ::write(asked[1], request.data(), request.size());
    ::_exit(0);
  }
  ::waitpid(child, nullptr, WUNTRACED);
  const auto answer = ask_race(folder.path(), race, "cancel");
  ::kill(child, SIGCONT);
  BOOST_REQUIRE(!answer);
  BOOST_TEST((code_of(answer.error()) == ec::refused), text_of(answer.error()));
  BOOST_TEST((exit_code_of(answer.error()) == exit_code::failed), "no bug of ours");
  const auto pid = std::to_string(child);
  BOOST_TEST(text_of(answer.error()) == "run_1 does not answer: its process, pid " + pid + ", is stopped (kill -CONT " +
                                            pid + "); this request is left with it, for when it goes on");
  char heard[16] = {};
  BOOST_TEST(::read(asked[0], heard, sizeof heard - 1) == 6);
  BOOST_TEST(std::string{heard} == "cancel");
  ::waitpid(child, nullptr, 0);
  ::close(asked[0]);
  ::close(asked[1]);
}

BOOST_AUTO_TEST_CASE(a_socket_that_nobody_listens_on_is_removed) {
  const test::scratch_folder folder;
  const race_id race{"run_1"};
  const auto path = folder / "control/run_1.sock";
  const auto other = folder / "control/kept.sock";
  {
    const auto server = control_server::open(folder.path(), race);
    BOOST_REQUIRE(server);
    // What a kill leaves: the name, and no listener.
    std::filesystem::create_hard_link(path, other);
  }
  std::filesystem::rename(other, path);
  {
    // The race that is taken up again.
    std::filesystem::create_hard_link(path, other);
    const auto again = control_server::open(folder.path(), race);
    BOOST_TEST_REQUIRE(static_cast<bool>(again), "a resumed race has a socket of its own");
    BOOST_TEST(!control_server::open(folder.path(), race), "and nobody takes it from the living");
  }
  std::filesystem::rename(other, path);
  BOOST_TEST(controlled_races(folder.path()).size() == 1U);
  const auto answer = ask_race(folder.path(), race, "status");
  BOOST_REQUIRE(!answer);
  BOOST_TEST((code_of(answer.error()) == ec::not_found), text_of(answer.error()));
  BOOST_TEST(controlled_races(folder.path()).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
