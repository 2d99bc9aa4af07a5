// SPDX-License-Identifier: Apache-2.0
#include "sandbox/warm_rules.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::sandbox {

namespace {

using namespace std::chrono_literals;
using advice = zygote_book::advice;

const zygote_book::clock::time_point start{1'000'000s};

zygote_key key(const std::string& name) {
  return {{"/usr/bin/python3"}, {}, {name}, {}, {}};
}

run_spec spec(std::vector<std::string> argv) {
  run_spec out;
  out.argv = std::move(argv);
  out.files = {{"main.py", ""}};
  out.preload = {"torch"};
  return out;
}

bool is_warm(const run_spec& what) {
  std::string why;
  const auto found = zygote_key_of(what, why);
  BOOST_TEST(found.has_value() == why.empty());
  return found.has_value();
}

/// One that serves.
zygote_book::id ready(zygote_book& book, const std::string& name, zygote_book::clock::time_point now = start) {
  const auto asked = book.ask(key(name), now);
  BOOST_TEST(asked.is_new);
  book.on_ready(asked.zygote, now);
  return asked.zygote;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(warm_rules)

BOOST_AUTO_TEST_CASE(an_interpreter_with_known_flags_and_a_script_of_the_run_can_be_warm) {
  BOOST_TEST(is_warm(spec({"/usr/bin/python3", "main.py"})));
  BOOST_TEST(is_warm(spec({"/usr/bin/python3", "-I", "-s", "-B", "-u", "main.py", "--x", "-c"})));
  BOOST_TEST(!is_warm(spec({"/usr/bin/python3"})));
  BOOST_TEST(!is_warm(spec({"/usr/bin/python3", "-c", "main.py"})));
  BOOST_TEST(!is_warm(spec({"/usr/bin/python3", "-m", "main.py"})));
  BOOST_TEST(!is_warm(spec({"/usr/bin/python3", "-X", "dev", "main.py"})));
  BOOST_TEST(!is_warm(spec({"/usr/bin/python3", "other.py"})));
  BOOST_TEST(!is_warm(spec({"/usr/bin/python3", "/run/job/main.py"})));
}

BOOST_AUTO_TEST_CASE(a_run_with_devices_may_be_warm_as_it_gets_them_after_the_fork) {
  auto what = spec({"/usr/bin/python3", "main.py"});
  what.devices = {"/dev/nvidia0"};
  BOOST_TEST(is_warm(what));
}

BOOST_AUTO_TEST_CASE(a_run_that_does_not_ask_is_cold_without_a_reason) {
  auto what = spec({"/usr/bin/python3", "main.py"});
  what.preload.reset();
  std::string why;
  BOOST_TEST(!zygote_key_of(what, why).has_value());
  BOOST_TEST(why.empty());
}

BOOST_AUTO_TEST_CASE(flags_environment_and_modules_make_the_key_and_arguments_do_not) {
  std::string why;
  const auto of = [&](const run_spec& what) { return *zygote_key_of(what, why); };
  const auto base = spec({"/usr/bin/python3", "-u", "main.py", "a"});
  BOOST_TEST((of(base) == of(spec({"/usr/bin/python3", "-u", "main.py", "b"}))));
  BOOST_TEST((of(base) != of(spec({"/usr/bin/python3", "main.py", "a"}))));
  auto other = base;
  other.environment["TRITON_INTERPRET"] = "1";
  BOOST_TEST((of(base) != of(other)));
  other = base;
  other.preload = {"numpy"};
  BOOST_TEST((of(base) != of(other)));
  other = base;
  other.kernel_target = "cuda:90";
  BOOST_TEST((of(base) != of(other)));
  other = base;
  other.devices = {"/dev/nvidia1"};
  BOOST_TEST((of(base) == of(other)));
}

BOOST_AUTO_TEST_CASE(the_first_run_starts_one_and_all_wait_for_it) {
  zygote_book book;
  const auto first = book.ask(key("a"), start), second = book.ask(key("a"), start);
  BOOST_TEST((first.what == advice::wait && first.is_new));
  BOOST_TEST((second.what == advice::wait && !second.is_new));
  BOOST_TEST(first.zygote == second.zygote);
  book.on_ready(first.zygote, start);
  BOOST_TEST((book.ask(key("a"), start).what == advice::use));
}

BOOST_AUTO_TEST_CASE(a_third_kind_takes_the_place_of_one_that_nobody_uses) {
  zygote_book book;
  const auto a = ready(book, "a");
  ready(book, "b", start + 1s);
  BOOST_TEST((book.ask(key("c"), start + 2s).what == advice::wait));
  BOOST_TEST((book.due(start + 2s).to_end == std::vector{a}));
}

BOOST_AUTO_TEST_CASE(where_both_are_in_use_a_third_kind_is_cold) {
  zygote_book book;
  for (const auto* name : {"a", "b"}) {
    ready(book, name);
    BOOST_TEST((book.ask(key(name), start).what == advice::use));
  }
  const auto third = book.ask(key("c"), start);
  BOOST_TEST((third.what == advice::cold));
  BOOST_TEST(!third.why_cold.empty());
  BOOST_TEST(book.due(start).to_end.empty());
}

BOOST_AUTO_TEST_CASE(after_a_failure_runs_are_cold_for_a_while_and_longer_each_time) {
  zygote_book book;
  auto now = start;
  for (const auto pause : {10s, 20s, 40s}) {
    const auto asked = book.ask(key("a"), now);
    BOOST_TEST((asked.what == advice::wait));
    book.on_failure(asked.zygote, "broken", now);
    const auto next = book.ask(key("a"), now + pause - 1ms);
    BOOST_TEST((next.what == advice::cold));
    BOOST_TEST(next.why_cold == "broken");
    now += pause;
  }
}

BOOST_AUTO_TEST_CASE(one_that_may_not_fork_keeps_its_runs_and_gets_no_more) {
  zygote_book book;
  const auto a = ready(book, "a");
  BOOST_TEST((book.ask(key("a"), start).what == advice::use));
  book.on_unfit(a, "threads", start);
  BOOST_TEST((book.ask(key("a"), start).what == advice::cold));
  BOOST_TEST(book.due(start).to_end.empty());
  book.on_run_end(a, start);
  BOOST_TEST((book.due(start).to_end == std::vector{a}));
}

BOOST_AUTO_TEST_CASE(a_worn_one_serves_until_its_successor_is_up_and_its_runs_have_ended) {
  zygote_limits limits;
  limits.runs = 2;
  zygote_book book{limits};
  const auto a = ready(book, "a");
  book.ask(key("a"), start);
  BOOST_TEST(book.due(start).to_start.empty());
  book.ask(key("a"), start);
  const auto to_start = book.due(start).to_start;
  BOOST_REQUIRE(to_start.size() == 1U);
  BOOST_TEST(book.due(start).to_start.empty());
  BOOST_TEST(book.ask(key("a"), start).zygote == a);
  book.on_ready(to_start.front(), start);
  BOOST_TEST(book.ask(key("a"), start).zygote == to_start.front());
  BOOST_TEST(book.due(start).to_end.empty());
  for (int i = 0; i < 3; ++i) {
    book.on_run_end(a, start);
  }
  BOOST_TEST((book.due(start).to_end == std::vector{a}));
}

BOOST_AUTO_TEST_CASE(an_idle_one_ends_and_one_in_use_does_not) {
  zygote_book book;
  const auto a = ready(book, "a");
  book.ask(key("a"), start);
  BOOST_TEST(book.due(start + 700s).to_end.empty());
  book.on_run_end(a, start + 700s);
  BOOST_TEST(book.due(start + 1299s).to_end.empty());
  BOOST_TEST((book.due(start + 1300s).to_end == std::vector{a}));
  BOOST_TEST(!book.is_known(a));
}

BOOST_AUTO_TEST_CASE(one_that_does_not_come_up_is_told) {
  zygote_book book;
  const auto asked = book.ask(key("a"), start);
  BOOST_TEST(book.due(start + 59s).too_late.empty());
  BOOST_TEST((book.due(start + 60s).too_late == std::vector{asked.zygote}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox
