// SPDX-License-Identifier: Apache-2.0
#include "node/check_desk.hpp"

#include "messages/limits.hpp"
#include "node/source_check_codec.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace regatta;
using namespace std::chrono_literals;
using verb = check_desk::verb;

std::string good(std::uint64_t number) {
  return R"({"id": )" + std::to_string(number) +
         R"(, "parses": true, "error": "", "definitions": ["f"], "has_main": false})" + "\n";
}

struct fixture {
  /// All steps up to `nothing`, timers left out.
  std::vector<verb> steps() {
    std::vector<verb> result;
    for (auto step = desk.next(now); step.what != verb::nothing; step = desk.next(now)) {
      if (step.what == verb::wake) {
        wake_at = step.at;
        continue;
      }
      generation = step.generation;
      asked = step.what == verb::write ? step.bytes : asked;
      result.push_back(step.what);
    }
    return result;
  }
  void say(const std::string& line) { desk.on_output(generation, line, now); }
  void greet() { say("{\"id\": 0}\n"); }
  void pass(std::chrono::milliseconds by) {
    now += by;
    desk.tick(now);
  }

  check_desk desk{{10s, 3, 100ms, 30s}};
  check_desk::time_point now{};
  check_desk::time_point wake_at{};
  std::uint64_t generation = 0;
  std::string asked;
};

using verbs = std::vector<verb>;

}  // namespace

namespace regatta {

std::ostream& boost_test_print_type(std::ostream& out, verb x) {
  return out << static_cast<int>(x);
}

}  // namespace regatta

BOOST_FIXTURE_TEST_SUITE(check_desk_rules, fixture)

BOOST_AUTO_TEST_CASE(texts_are_asked_one_by_one_and_answered_in_order) {
  BOOST_TEST(steps().empty());
  desk.ask(1, {"a", "bb"}, now);
  BOOST_TEST((steps() == verbs{verb::start}));
  greet();
  BOOST_TEST((steps() == verbs{verb::write}));
  BOOST_TEST(asked == "1 1\na");
  say(good(1));
  BOOST_TEST((steps() == verbs{verb::write}));
  BOOST_TEST(asked == "2 2\nbb");
  say(R"({"id": 2, "parses": false, "error": "line 1: no", "definitions": [], "has_main": false})");
  BOOST_TEST(desk.take_results().empty());
  say("\n");
  const auto done = desk.take_results();
  BOOST_TEST(done.size() == 1U);
  BOOST_TEST(done[0].report->facts.size() == 2U);
  BOOST_TEST(done[0].report->facts[0].definitions.at(0) == "f");
  BOOST_TEST(done[0].report->facts[1].error == "line 1: no");
}

BOOST_AUTO_TEST_CASE(no_text_and_too_large_a_text_need_no_helper) {
  desk.ask(1, {}, now);
  desk.ask(2, {std::string(candidate_bytes + 1, 'x')}, now);
  BOOST_TEST(steps().empty());
  const auto done = desk.take_results();
  BOOST_TEST(done.size() == 2U);
  BOOST_TEST(done[0].report->facts.empty());
  BOOST_TEST(done[1].report->facts.at(0).error == "larger than 1048576 bytes");
}

BOOST_AUTO_TEST_CASE(a_text_that_hangs_is_answered_so_and_the_next_one_gets_a_new_helper) {
  desk.ask(1, {"hangs", "of the same reply"}, now);
  desk.ask(2, {"fine"}, now);
  steps();
  greet();
  steps();
  BOOST_TEST((wake_at == now + 10s));
  pass(10s - 1ms);
  BOOST_TEST(desk.take_results().empty());
  pass(1ms);
  const auto facts = desk.take_results().at(0).report->facts;
  BOOST_TEST(facts.size() == 2U);
  BOOST_TEST(facts.at(0).error == "the syntax check did not finish");
  BOOST_TEST(facts.at(1).error == "not checked: the check of another text of this reply did not finish");
  BOOST_TEST((steps() == verbs{verb::kill, verb::start}));
  greet();
  steps();
  say(good(2));
  BOOST_TEST(desk.take_results().at(0).report->facts.at(0).parses);
}

BOOST_AUTO_TEST_CASE(a_helper_that_dies_once_costs_nobody_anything) {
  desk.ask(1, {"text"}, now);
  steps();
  greet();
  steps();
  desk.on_ended(generation, "killed by signal 9", now);
  BOOST_TEST((steps() == verbs{verb::start}));
  greet();
  BOOST_TEST((steps() == verbs{verb::write}));
  say(good(2));
  BOOST_TEST(desk.take_results().at(0).report->facts.at(0).parses);
}

BOOST_AUTO_TEST_CASE(a_text_that_kills_two_helpers_is_answered_so) {
  desk.ask(1, {"bomb", "fine"}, now);
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST((steps() == verbs{verb::start}));
    greet();
    steps();
    desk.on_ended(generation, "killed by signal 11", now);
  }
  BOOST_TEST((steps() == verbs{verb::start}));
  greet();
  steps();
  BOOST_TEST(asked == "3 4\nfine");
  say(good(3));
  const auto done = desk.take_results();
  BOOST_TEST(done.at(0).report->facts.at(0).error == "the syntax check did not survive this text");
  BOOST_TEST(done.at(0).report->facts.at(1).parses);
}

BOOST_AUTO_TEST_CASE(a_helper_that_never_starts_fails_the_questions_after_some_tries_with_pauses) {
  desk.ask(1, {"text"}, now);
  BOOST_TEST((steps() == verbs{verb::start}));
  desk.on_ended(generation, "exit status 127", now);
  BOOST_TEST(steps().empty());
  BOOST_TEST((wake_at == now + 100ms));
  pass(100ms);
  BOOST_TEST((steps() == verbs{verb::start}));
  pass(10s);
  BOOST_TEST((steps() == verbs{verb::kill}));
  pass(200ms);
  BOOST_TEST((steps() == verbs{verb::start}));
  desk.on_ended(generation, "exit status 127", now);
  const auto failed = desk.take_results();
  BOOST_TEST(code_of(failed.at(0).report.error()) == ec::io_failed);
  BOOST_TEST(text_of(failed[0].report.error()).find("exit status 127") != std::string::npos);

  desk.ask(2, {"text"}, now);
  BOOST_TEST(desk.take_results().size() == 1U);
  BOOST_TEST(steps().empty());
  pass(30s);
  desk.ask(3, {"text"}, now);
  BOOST_TEST((steps() == verbs{verb::start}));
  greet();
  steps();
  say(good(1));
  BOOST_TEST(desk.take_results().at(0).report->facts.at(0).parses);
}

BOOST_AUTO_TEST_CASE(a_helper_that_says_something_else_is_killed) {
  for (const std::string& line : {std::string{"hello\n"}, good(99), std::string{"{\"id\": 0}\n"}, std::string{"[1]\n"},
                                  std::string(5 * MiB, 'x')}) {
    check_desk fresh{{10s, 3, 100ms, 30s}};
    std::swap(desk, fresh);
    desk.ask(1, {"text"}, now);
    steps();
    greet();
    steps();
    say(line);
    BOOST_TEST((steps() == verbs{verb::kill, verb::start}));
  }
}

BOOST_AUTO_TEST_CASE(words_of_an_earlier_helper_are_not_heard) {
  desk.ask(1, {"text"}, now);
  steps();
  greet();
  steps();
  const auto old = generation;
  desk.on_ended(old, "killed", now);
  steps();
  desk.on_output(old, good(1), now);
  desk.on_ended(old, "killed", now);
  BOOST_TEST(desk.take_results().empty());
  BOOST_TEST(steps().empty());
  greet();
  BOOST_TEST((steps() == verbs{verb::write}));
}

BOOST_AUTO_TEST_CASE(there_is_one_timer_however_many_texts_are_asked) {
  desk.ask(1, std::vector<std::string>(64, "x"), now);
  int wakes = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto step = desk.next(now);
    wakes += step.what == verb::wake ? 1 : 0;
    if (step.what == verb::start) {
      desk.on_output(step.generation, "{\"id\": 0}\n", now);
    } else if (step.what == verb::write) {
      desk.on_output(step.generation, good(std::stoull(step.bytes)), now);
    }
    now += 1ms;
  }
  BOOST_TEST(wakes <= 1);
  BOOST_TEST(desk.take_results().size() == 1U);
}

BOOST_AUTO_TEST_CASE(answers_are_read_as_hostile) {
  for (const char* line : {"", "{", "{}", "null", R"({"id": -1})", R"({"id": "1"})", R"({"id": 1})",
                           R"({"id": 1, "parses": 1, "error": "", "definitions": [], "has_main": false})",
                           R"({"id": 1, "parses": true, "error": "", "definitions": [1], "has_main": false})",
                           R"({"id": 1, "parses": true, "error": "", "definitions": {}, "has_main": false})"}) {
    BOOST_TEST(!decode_answer(line), line);
  }
  std::string many = R"({"id": 1, "parses": true, "error": "", "has_main": true, "definitions": ["a")";
  for (int i = 0; i < 4096; ++i) {
    many += R"(,"a")";
  }
  BOOST_TEST(!decode_answer(many + "]}"));
  BOOST_TEST(!decode_answer(std::string(1 * MiB, '[')));
}

BOOST_AUTO_TEST_SUITE_END()
