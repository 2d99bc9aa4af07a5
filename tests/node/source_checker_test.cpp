// SPDX-License-Identifier: Apache-2.0
#include "node/source_checker.hpp"

#include "tests/node/sandbox_house.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

pid_t parent_of(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/status"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("PPid:")) {
      return std::stoi(line.substr(5));
    }
  }
  return 0;
}

bool is_ours(pid_t pid) {
  while (pid > 1 && pid != getpid()) {
    pid = parent_of(pid);
  }
  return pid == getpid();
}

/// The helper's processes as the host sees them; another test's helpers are none of ours.
std::vector<pid_t> helpers() {
  std::vector<pid_t> result;
  std::error_code error;
  for (fs::directory_iterator at{"/proc", error}, end; !error && at != end; at.increment(error)) {
    std::ifstream file{at->path() / "cmdline"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const auto name = at->path().filename().string();
    if (text.find("source_check.py") != std::string::npos && is_ours(std::stoi(name))) {
      result.push_back(std::stoi(name));
    }
  }
  return result;
}

struct checker_house : sandbox_house {
  checker_house() = default;
  ~checker_house() { end(checker); }

  void start_checker(std::chrono::milliseconds limit = 20s) {
    checker = spawn_source_checker(system, {runner, python, limit});
  }
  caf::expected<source_report> check(std::vector<std::string> texts) {
    return ask<source_report>(checker, check_source{race_id{"race"}, std::move(texts)});
  }
  source_facts facts_of(const std::string& text) {
    const auto report = check({text});
    BOOST_REQUIRE_MESSAGE(report, (report ? "" : describe(report.error())));
    BOOST_REQUIRE(report->facts.size() == 1U);
    return report->facts[0];
  }

  source_checker_actor checker;
};

std::string repeated(const std::string& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(source_checker_with_a_sandbox, checker_house)

BOOST_AUTO_TEST_CASE(facts_of_each_text_come_in_order) {
  if (!is_open()) {
    return;
  }
  start_checker();
  const auto report =
      check({"class ModelNew: pass\nif True:\n  def kernel_function(): pass\n"
             "try:\n  def a(): pass\nexcept ImportError:\n  def b(): pass\n"
             "if __name__ == '__main__':\n  def not_at_import(): pass\n",
             "x = (\n", "", "return 1\n"});
  BOOST_REQUIRE_MESSAGE(report, (report ? "" : describe(report.error())));
  BOOST_TEST(report->facts.size() == 4U);
  BOOST_TEST(report->facts[0].parses);
  BOOST_TEST(report->facts[0].has_main);
  BOOST_TEST(report->facts[0].definitions == (std::vector<std::string>{"ModelNew", "kernel_function", "a", "b"}),
             boost::test_tools::per_element());
  BOOST_TEST(!report->facts[1].parses);
  BOOST_TEST(report->facts[1].error.starts_with("line 1: "));
  BOOST_TEST(report->facts[2].parses);
  BOOST_TEST(report->facts[3].error == "line 1: 'return' outside function");
}

BOOST_AUTO_TEST_CASE(bad_bytes_and_nesting_bombs_are_answers) {
  if (!is_open()) {
    return;
  }
  start_checker();
  BOOST_TEST(facts_of(std::string("a = 1\0\n", 7)).error.find("null bytes") != std::string::npos);
  BOOST_TEST(!facts_of("x = '\xFF'\n").parses);
  BOOST_TEST(facts_of("\xEF\xBB\xBFx = 1\n").parses);
  for (const auto& bomb : {std::string(100'000, '('), std::string(200'000, '-') + "1",
                           "x = a" + repeated(".b", 200'000), "if 1: pass\n" + repeated("elif 1: pass\n", 20'000)}) {
    const auto facts = facts_of(bomb);
    BOOST_TEST(!facts.parses);
    BOOST_TEST(!facts.error.empty());
  }
  BOOST_TEST(facts_of("x = 1\n").parses);
}

BOOST_AUTO_TEST_CASE(a_text_of_a_mebibyte_is_read_and_one_byte_more_is_not) {
  if (!is_open()) {
    return;
  }
  start_checker(60s);
  const auto text = "def f(): pass\n" + std::string(candidate_bytes - 14, '#');
  BOOST_TEST(facts_of(text).parses);
  BOOST_TEST(facts_of(text + "#").error == "larger than 1048576 bytes");
}

// compile() takes these quadratic time: 70,000 functions took it longer than anybody waited.
BOOST_AUTO_TEST_CASE(what_compile_takes_too_long_for_is_counted_first) {
  if (!is_open()) {
    return;
  }
  start_checker(60s);
  const std::string limit = " functions, classes and comprehensions, allowed are 1000";
  BOOST_TEST(facts_of(repeated("def f(): pass\n", 70'000)).error == "70000" + limit);
  BOOST_TEST(facts_of(repeated("[0 for x in y]\n", 1'001)).error == "1001" + limit);
  BOOST_TEST(facts_of(repeated("lambda: 0\n", 1'000)).parses);
  BOOST_TEST(facts_of(repeated("# for all who wait for it\n", 2'000) + "x = 1\n").parses, "words, not scopes");
  const auto giants = facts_of(repeated("x = 0x7fffffffffffffff\n", 1'001)).error;
  BOOST_TEST(giants == "1001 integers of 61 bits or more, allowed are 1000");
  BOOST_TEST(facts_of("def f(): pass\n").parses);
}

BOOST_AUTO_TEST_CASE(a_text_that_needs_too_much_memory_does_not_harm_the_next) {
  if (!is_open()) {
    return;
  }
  start_checker(60s);
  const auto facts = facts_of(repeated("a;", 500'000));
  BOOST_TEST(facts.error == "too large or nested too deeply for Python's parser");
  BOOST_TEST(facts_of("x = 1\n").parses);
}

BOOST_AUTO_TEST_CASE(a_text_that_takes_too_long_is_given_up_and_the_next_is_answered) {
  if (!is_open()) {
    return;
  }
  start_checker(300ms);
  BOOST_TEST(facts_of(repeated("a = 1\n", 170'000)).error == "the syntax check did not finish");
  caf::anon_send_exit(checker, caf::exit_reason::user_shutdown);
  start_checker();
  BOOST_TEST(facts_of("x = 1\n").parses);
}

BOOST_AUTO_TEST_CASE(a_helper_that_is_killed_is_replaced) {
  if (!is_open()) {
    return;
  }
  start_checker();
  BOOST_TEST(facts_of("x = 1\n").parses);
  const auto running = helpers();
  BOOST_TEST(running.size() == 1U);
  for (const auto pid : running) {
    BOOST_TEST(kill(pid, SIGKILL) == 0);
  }
  BOOST_TEST(facts_of("def f(): pass\n").definitions.at(0) == "f");
}

BOOST_AUTO_TEST_CASE(a_helper_that_is_killed_in_the_middle_of_a_text_costs_no_answer) {
  if (!is_open()) {
    return;
  }
  start_checker();
  BOOST_TEST(facts_of("x = 1\n").parses);
  caf::scoped_actor self{system};
  const auto slow = "def f(): pass\n" + repeated("a = 1\n", 100'000);
  self->send(checker, check_source{race_id{"race"}, {slow, "def g(): pass\n"}});
  usleep(100'000);  // well within what the parser needs for it
  for (const auto pid : helpers()) {
    BOOST_TEST(kill(pid, SIGKILL) == 0);
  }
  self->receive(
      [&](const source_report& x) {
        BOOST_TEST(x.facts.at(0).definitions.at(0) == "f");
        BOOST_TEST(x.facts.at(1).definitions.at(0) == "g");
      },
      caf::after(60s) >> [] { BOOST_TEST(false, "no answer"); });
}

BOOST_AUTO_TEST_CASE(an_interpreter_that_cannot_be_started_is_an_error_that_says_so) {
  if (!is_open()) {
    return;
  }
  python.executable = "/usr/bin/no-such-python";
  start_checker();
  const auto report = check({"x = 1\n"});
  BOOST_TEST(code_of(report.error()) == ec::io_failed);
  BOOST_TEST(!text_of(report.error()).empty());
  end(checker);
  checker = spawn_source_checker(system, {nullptr, python, 1s});
  BOOST_TEST(code_of(check({"x = 1\n"}).error()) == ec::sandbox_refused);
}

BOOST_AUTO_TEST_CASE(many_questions_at_once_are_all_answered_and_too_many_texts_are_refused) {
  if (!is_open()) {
    return;
  }
  start_checker();
  caf::scoped_actor self{system};
  std::size_t answered = 0;
  for (int i = 0; i < 200; ++i) {
    self->send(checker, check_source{race_id{"race"}, {"def f" + std::to_string(i) + "(): pass\n"}});
  }
  for (int i = 0; i < 200; ++i) {
    self->receive([&](const source_report& x) { answered += x.facts.at(0).parses ? 1 : 0; }, caf::after(30s) >> [] {});
  }
  BOOST_TEST(answered == 200U);
  BOOST_TEST(code_of(check(std::vector<std::string>(65, "x")).error()) == ec::refused);
}

BOOST_AUTO_TEST_SUITE_END()
