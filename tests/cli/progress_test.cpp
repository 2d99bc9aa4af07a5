// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include "cli/terminal_text.hpp"
#include "tests/cli/has.hpp"
#include "tests/cli/race_script.hpp"
#include "tests/cli/virtual_screen.hpp"

#include <boost/test/unit_test.hpp>

namespace regatta::cli {

namespace {

using test::race_script;
using test::virtual_screen;

race_view view_of(const race_script& script) {
  race_view out;
  for (const auto& x : script.events) {
    out.apply(x);
  }
  return out;
}

constexpr std::chrono::milliseconds at{12'300};

}  // namespace

BOOST_AUTO_TEST_SUITE(progress)

BOOST_AUTO_TEST_CASE(each_worker_has_a_line_with_round_state_verdict_and_tokens) {
  race_script script{2};
  reply_ended reply;
  reply.worker = make_worker_id(1);
  reply.outcome = llm_outcome::replied;
  reply.usage.input_tokens = 1'000;
  reply.usage.output_tokens = 500;
  script.add(reply).evaluates(1, 2, race_script::exits(1)).moves(1, 3, worker_phase::prompting);
  const auto lines = progress_lines(view_of(script), {100, 24}, at);
  BOOST_REQUIRE(lines.size() == 3U);
  BOOST_TEST(has(lines[0], "softmax: 2 workers, 12.3 s"));
  BOOST_TEST(has(lines[1], "worker_01"));
  BOOST_TEST(has(lines[1], "round 3/10"));
  BOOST_TEST(has(lines[1], "prompting"));
  BOOST_TEST(has(lines[1], "1.5k tok"));
  BOOST_TEST(has(lines[1], "exited_nonzero: exit status 1"));
  BOOST_TEST(has(lines[2], "worker_02"));
}

BOOST_AUTO_TEST_CASE(there_are_never_more_lines_than_the_terminal_has) {
  race_script script{50};
  for (std::uint32_t i = 1; i <= 10; ++i) {
    worker_finished x;
    x.worker = make_worker_id(i);
    x.end = worker_end::rounds_spent;
    script.add(x);
  }
  const auto view = view_of(script);
  for (std::size_t rows = 1; rows < 60; ++rows) {
    const auto lines = progress_lines(view, {60, rows}, at);
    BOOST_TEST(lines.size() <= std::max<std::size_t>(rows, 2) - 1);
    for (const auto& line : lines) {
      BOOST_TEST(columns_of(line) < 60U);
    }
  }
  const auto lines = progress_lines(view, {60, 10}, at);
  BOOST_REQUIRE(lines.size() == 9U);
  BOOST_TEST(has(lines[1], "worker_11"));
  BOOST_TEST(lines.back() == "+ 43 more: 10 ended, 33 starting");
}

BOOST_AUTO_TEST_CASE(the_block_is_redrawn_in_place) {
  virtual_screen screen{40, 10};
  live_screen live{false};
  screen.write("$ regatta race\n");
  screen.write(live.paint({"head", "one", "two"}, {40, 10}));
  screen.write(live.paint({"head", "ONE"}, {40, 10}));
  BOOST_TEST(screen.text() == "$ regatta race\nhead\nONE");
  screen.write(live.print_above("a reply's line", {40, 10}));
  BOOST_TEST(screen.text() == "$ regatta race\na reply's line\nhead\nONE");
  screen.write(live.erase({40, 10}));
  BOOST_TEST(screen.text() == "$ regatta race\na reply's line");
}

BOOST_AUTO_TEST_CASE(a_block_as_high_as_allowed_scrolls_nothing_but_once) {
  virtual_screen screen{20, 5};
  live_screen live{false};
  screen.write("before\n");
  for (int i = 0; i < 4; ++i) {
    screen.write(live.paint({"a", "b", "c", "d"}, {20, 5}));
  }
  BOOST_TEST(screen.text() == "before\na\nb\nc\nd");
}

BOOST_AUTO_TEST_CASE(a_narrower_terminal_leaves_no_old_lines) {
  virtual_screen screen{40, 12};
  live_screen live{false};
  screen.write(live.paint({std::string(30, 'x'), std::string(30, 'y')}, {40, 12}));
  screen.resize(16);
  screen.write(live.paint({"short", "lines"}, {16, 12}));
  BOOST_TEST(screen.text() == "short\nlines");
}

BOOST_AUTO_TEST_CASE(a_hostile_note_cannot_move_the_cursor) {
  race_script script{1};
  script.moves(1, 1, worker_phase::evaluating, "\x1B[2J\x1B]0;pwn\aboo\r\nx");
  for (const auto& line : progress_lines(view_of(script), {80, 24}, at)) {
    BOOST_TEST(line.find_first_of("\x1B\r\n\a") == std::string::npos);
  }
  round_failed x{make_worker_id(1), 1, "bad \x1B[31mtext\nhere", ""};
  event e;
  e.body = x;
  BOOST_TEST(*plain_line(e) == "worker_01 round 1: failed: bad text here");
}

BOOST_AUTO_TEST_CASE(color_is_only_used_when_asked_for) {
  live_screen plain{false};
  live_screen colored{true};
  const std::vector<std::string> lines{"worker_01  round 1/10 won"};
  BOOST_TEST(!has(plain.paint(lines, {80, 24}), "\x1B["));
  BOOST_TEST(has(colored.paint(lines, {80, 24}), "\x1B[32m"));
}

BOOST_AUTO_TEST_CASE(every_fact_but_deltas_and_silent_moves_has_a_plain_line) {
  race_script script{2};
  script.fails(1, 1, "no code").wins(2, 1).ends(race_end::won, "pass via run_tests at iter 1");
  for (const auto& x : script.events) {
    BOOST_TEST_INFO(kind_of(x.body));
    const auto line = plain_line(x);
    BOOST_REQUIRE(line.has_value());
    BOOST_TEST(line->find('\n') == std::string::npos);
  }
  event delta;
  delta.body = reply_delta{make_worker_id(1), 1, 1, "x"};
  BOOST_TEST(!plain_line(delta).has_value());
}

BOOST_AUTO_TEST_CASE(deltas_become_whole_lines_with_their_workers_name) {
  delta_lines deltas;
  const auto one = make_worker_id(1);
  BOOST_TEST(deltas.add(one, "imp") == "");
  BOOST_TEST(deltas.add(make_worker_id(2), "other\n") == "[worker_02] other\n");
  BOOST_TEST(deltas.add(one, "ort torch\n\x1B[1mx") == "[worker_01] import torch\n");
  BOOST_TEST(deltas.flush(one) == "[worker_01] x\n");
  BOOST_TEST(deltas.flush(one) == "");
}

BOOST_AUTO_TEST_CASE(the_view_knows_a_budget_that_is_spent) {
  race_script script{1};
  reply_ended reply;
  reply.worker = make_worker_id(1);
  reply.outcome = llm_outcome::budget_exhausted;
  BOOST_TEST(!view_of(script).is_budget_spent());
  BOOST_TEST(view_of(script.add(reply)).is_budget_spent());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::cli
