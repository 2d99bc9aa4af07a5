// SPDX-License-Identifier: Apache-2.0
// Three runs that speak with each other over streams, as a judging does: a comparator and two sides.
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <vector>

namespace regatta::sandbox::test {

namespace {

const char* const comparator = R"(
import os
def ask(end, question):
    os.write(end, question)
    answer = b""
    while len(answer) < 1 << 20:
        piece = os.read(end, 1 << 16)
        if not piece:
            break
        answer += piece
    return answer
same = ask(0, b"7") == ask(1, b"7")
open("verdict", "w").write("same" if same else "different")
)";

const char* const side = R"(
import os, sys
print("beginning", file=sys.stderr)
seed = os.read(0, 1)
answer = seed * (1 << 20)
while answer:
    answer = answer[os.write(1, answer):]
)";

/// Both directions over one stream, whose other end the comparator gets.
std::shared_ptr<unique_fd> connect(run_spec& to) {
  int ends[2];
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  to.standard_in = std::make_shared<unique_fd>(ends[1]);
  to.standard_out = std::make_shared<unique_fd>(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0));
  return std::make_shared<unique_fd>(ends[0]);
}

std::future<run_result> begin(runner& sandbox, run_spec spec) {
  auto promise = std::make_shared<std::promise<run_result>>();
  auto end = promise->get_future();
  sandbox.start(std::move(spec), [promise](run_result result) { promise->set_value(std::move(result)); });
  return end;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pair)

BOOST_AUTO_TEST_CASE(three_runs_make_a_judging) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto judge = python_spec(comparator), reference = python_spec(side), candidate = python_spec(side);
  judge.standard_in = connect(reference);
  judge.standard_out = connect(candidate);
  judge.keep = {"verdict"};
  std::vector<std::future<run_result>> ends;
  for (auto* spec : {&judge, &reference, &candidate}) {
    ends.push_back(begin(*sandbox, std::move(*spec)));
  }
  for (auto& end : ends) {
    BOOST_REQUIRE(end.wait_for(std::chrono::seconds{60}) == std::future_status::ready);
  }
  const auto verdict = ends[0].get();
  BOOST_TEST((verdict.outcome == outcome::exited), verdict.stderr_kept);
  BOOST_TEST(verdict.kept.at(0).content == "same", verdict.kept.at(0).problem);
  for (const std::size_t at : {1U, 2U}) {
    const auto result = ends[at].get();
    BOOST_TEST((result.outcome == outcome::exited), result.stderr_kept);
    BOOST_TEST(result.stderr_kept == "beginning\n");
    BOOST_TEST((result.is_warm == host().is_warm), result.why_cold);
  }
}

// Warm starts are for runs with namespaces; a run that wishes for one is told, and starts.
BOOST_AUTO_TEST_CASE(a_run_without_namespaces_says_why_it_starts_cold) {
  if (!is_on_host()) {
    return;
  }
  const auto sandbox = open_runner();
  auto spec = python_spec("print('PASS')");
  spec.preload = {"json"};
  const auto result = run(*sandbox, std::move(spec));
  BOOST_TEST((result.claim == claim::run_tests));
  BOOST_TEST(result.why_cold == "warm starts need sandbox level L3, this is " + to_string(sandbox->obtained()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
