// SPDX-License-Identifier: Apache-2.0
#include "sandbox/outcome_rules.hpp"

#include <boost/test/unit_test.hpp>
#include <signal.h>

using namespace regatta;
using namespace regatta::sandbox;

namespace {

constexpr int exit_status(int code) {
  return code << 8;
}

end_facts started() {
  end_facts facts;
  facts.has_started = true;
  return facts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(outcome_rule)

BOOST_AUTO_TEST_CASE(exit_status_0_is_exited) {
  auto facts = started();
  facts.wait_status = exit_status(0);
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::exited));
}

BOOST_AUTO_TEST_CASE(another_exit_status_is_told) {
  auto facts = started();
  facts.wait_status = exit_status(3);
  const auto verdict = judge_end(facts, {});
  BOOST_TEST((verdict.outcome == outcome::exited_nonzero));
  BOOST_TEST(verdict.exit_code == 3);
  BOOST_TEST(verdict.reason == "exit status 3");
}

BOOST_AUTO_TEST_CASE(a_signal_of_its_own_is_named) {
  auto facts = started();
  facts.wait_status = SIGSEGV;
  const auto verdict = judge_end(facts, {});
  BOOST_TEST((verdict.outcome == outcome::killed_by_signal));
  BOOST_TEST(verdict.signal == SIGSEGV);
  BOOST_TEST(verdict.reason == "killed by SIGSEGV");
}

BOOST_AUTO_TEST_CASE(the_cpu_limit_is_a_timeout_also_for_who_ignores_its_signal) {
  run_limits limits;
  limits.cpu = std::chrono::seconds{2};
  auto facts = started();
  facts.wait_status = SIGXCPU;
  BOOST_TEST((judge_end(facts, limits).outcome == outcome::timed_out));
  facts.wait_status = SIGKILL;
  facts.cpu_time = std::chrono::seconds{3};
  BOOST_TEST((judge_end(facts, limits).outcome == outcome::timed_out));
  facts.cpu_time = std::chrono::seconds{1};
  BOOST_TEST((judge_end(facts, limits).outcome == outcome::killed_by_signal));
}

BOOST_AUTO_TEST_CASE(a_death_after_our_order_is_ours) {
  auto facts = started();
  facts.killed = kill_reason::wall_limit;
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::timed_out));
  facts.wait_status = SIGKILL;  // the cgroup killed main before pid 1
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::timed_out));
  facts.killed = kill_reason::cancelled;
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::cancelled));
  facts.wait_status = SIGSEGV;  // we send SIGKILL only
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::killed_by_signal));
}

BOOST_AUTO_TEST_CASE(an_exit_that_came_before_our_order_counts) {
  auto facts = started();
  facts.killed = kill_reason::cancelled;
  facts.wait_status = exit_status(0);
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::exited));
}

BOOST_AUTO_TEST_CASE(too_much_output_counts_even_if_main_exited_first) {
  run_limits limits;
  limits.output = 1000;
  auto facts = started();
  facts.wait_status = exit_status(0);
  facts.output = 1001;
  BOOST_TEST((judge_end(facts, limits).outcome == outcome::output_too_large));
}

BOOST_AUTO_TEST_CASE(the_oom_killer_is_seen_unless_main_coped) {
  auto facts = started();
  facts.oom_killed = true;
  facts.wait_status = SIGKILL;
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::out_of_memory));
  facts.wait_status = exit_status(1);
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::out_of_memory));
  facts.wait_status.reset();  // pid 1 went with the rest
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::out_of_memory));
  facts.wait_status = exit_status(0);
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::exited));
}

BOOST_AUTO_TEST_CASE(a_memory_error_under_a_data_limit_gets_a_hint_only) {
  run_limits limits;
  limits.data = 64 * MiB;
  auto facts = started();
  facts.wait_status = exit_status(1);
  facts.is_data_limited = facts.says_memory_error = true;
  const auto verdict = judge_end(facts, limits);
  BOOST_TEST((verdict.outcome == outcome::exited_nonzero));
  BOOST_TEST(verdict.reason == "exit status 1 (MemoryError under a data limit of 64 MiB for each process)");
}

BOOST_AUTO_TEST_CASE(what_was_counted_and_found_too_much_is_named) {
  run_limits limits;
  limits.pids = 64;
  limits.disk = 4 * MiB;
  auto facts = started();
  facts.pids_exceeded = true;
  BOOST_TEST((judge_end(facts, limits).outcome == outcome::killed_by_signal));
  BOOST_TEST(judge_end(facts, limits).reason == "killed: more than 64 processes and threads");
  facts.pids_exceeded = false;
  facts.disk_exceeded = true;
  BOOST_TEST((judge_end(facts, limits).outcome == outcome::output_too_large));
  BOOST_TEST(judge_end(facts, limits).reason == "more than 4 MiB in its folder, or too many files or folders");
}

BOOST_AUTO_TEST_CASE(a_failed_setup_is_never_the_candidates) {
  end_facts facts;
  facts.setup_failure = "mount proc: Operation not permitted";
  const auto verdict = judge_end(facts, {});
  BOOST_TEST((verdict.outcome == outcome::sandbox_failed));
  BOOST_TEST(verdict.reason == "setup: mount proc: Operation not permitted");
  facts.killed = kill_reason::cancelled;
  BOOST_TEST((judge_end(facts, {}).outcome == outcome::cancelled));
}

BOOST_AUTO_TEST_CASE(an_end_that_nobody_explains_is_the_sandboxs_fault) {
  BOOST_TEST((judge_end(started(), {}).outcome == outcome::sandbox_failed));
  BOOST_TEST((judge_end({}, {}).outcome == outcome::sandbox_failed));
}

BOOST_AUTO_TEST_CASE(words_for_times_and_sizes) {
  BOOST_TEST(in_words(std::chrono::milliseconds{250}) == "250 ms");
  BOOST_TEST(in_words(std::chrono::milliseconds{1500}) == "1.5 s");
  BOOST_TEST(in_words(std::chrono::seconds{180}) == "180 s");
  BOOST_TEST(bytes_in_words(8 * GiB) == "8192 MiB");
  BOOST_TEST(bytes_in_words(1000) == "1000 bytes");
}

BOOST_AUTO_TEST_SUITE_END()
