// SPDX-License-Identifier: Apache-2.0
// The attack matrix: each attack is a Python candidate in attacks/; the truth is looked at from outside.
#include "sandbox/linux_api.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/sandbox/support/targets.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string>

namespace regatta::sandbox::test {

namespace {

/// Runs an attack that tries things and reports each that worked.
void must_hold(run_spec spec) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto result = run(*sandbox, std::move(spec));
  BOOST_TEST_CONTEXT(result.reason << "\n" << result.stdout_kept << result.stderr_kept) {
    BOOST_TEST((result.outcome == outcome::exited));
    BOOST_TEST(result.stdout_kept.find("BREACH") == std::string::npos);
    BOOST_TEST(result.stdout_kept.find("DONE") != std::string::npos);
    BOOST_TEST(result.stdout_kept.find(host().secret) == std::string::npos);
  }
}

/// Runs an attack on a limit.
run_result run_attack(run_spec spec) {
  const auto sandbox = open_runner();
  return run(*sandbox, std::move(spec));
}

std::atomic<int> signals_received{0};

}  // namespace

BOOST_AUTO_TEST_SUITE(attack)

BOOST_AUTO_TEST_CASE(secrets_in_the_environment_of_parent_and_init_stay_hidden) {
  must_hold(attack_spec("environ_of_parent"));
}

BOOST_AUTO_TEST_CASE(files_in_homes_and_shadow_stay_unread) {
  must_hold(attack_spec("read_secrets"));
}

BOOST_AUTO_TEST_CASE(nothing_is_written_outside_the_runs_own_folders) {
  must_hold(attack_spec("write_everywhere"));  // the guard looks for the mark on the host
}

BOOST_AUTO_TEST_CASE(tcp_to_the_host_through_socket_fails) {
  const tcp_target target;
  auto spec = attack_spec("tcp_by_socket");
  spec.environment["ATTACK_PORT"] = std::to_string(target.port());
  must_hold(std::move(spec));
  BOOST_TEST(!target.was_reached());
}

BOOST_AUTO_TEST_CASE(tcp_to_the_host_stays_refused_with_a_loopback_of_its_own) {
  const tcp_target target;
  auto spec = attack_spec("tcp_by_socket");
  spec.environment["ATTACK_PORT"] = std::to_string(target.port());
  spec.has_loopback = true;
  must_hold(std::move(spec));
  BOOST_TEST(!target.was_reached());
}

BOOST_AUTO_TEST_CASE(tcp_and_odd_families_through_ctypes_fail) {
  const tcp_target target;
  auto spec = attack_spec("tcp_by_ctypes");
  spec.environment["ATTACK_PORT"] = std::to_string(target.port());
  must_hold(std::move(spec));
  BOOST_TEST(!target.was_reached());
}

BOOST_AUTO_TEST_CASE(an_abstract_unix_socket_of_the_host_is_out_of_reach) {
  const unix_target target{unix_target::kind::abstract};
  auto spec = attack_spec("abstract_socket");
  spec.environment["ATTACK_ABSTRACT"] = target.name();
  must_hold(std::move(spec));
  BOOST_TEST(!target.was_reached());
}

BOOST_AUTO_TEST_CASE(a_path_unix_socket_of_the_host_is_out_of_reach) {
  const unix_target target{unix_target::kind::path};
  auto spec = attack_spec("path_socket");
  spec.environment["ATTACK_SOCKET"] = target.name();
  must_hold(std::move(spec));
  BOOST_TEST(!target.was_reached());
}

BOOST_AUTO_TEST_CASE(kernel_control_files_cannot_be_opened_for_writing) {
  must_hold(attack_spec("kernel_files"));
}

BOOST_AUTO_TEST_CASE(descriptors_left_open_in_the_parent_are_not_inherited) {
  const unique_fd leak{::open(host().canary.c_str(), O_RDONLY)};  // without close-on-exec, on purpose
  BOOST_REQUIRE(static_cast<bool>(leak));
  must_hold(attack_spec("inherited_descriptors"));
}

BOOST_AUTO_TEST_CASE(memory_and_descriptors_of_init_and_parent_are_out_of_reach) {
  must_hold(attack_spec("ptrace_parent"));
}

BOOST_AUTO_TEST_CASE(init_cannot_be_looked_into) {
  must_hold(attack_spec("look_into_init"));
}

BOOST_AUTO_TEST_CASE(eight_burning_threads_that_ignore_all_signals_end_at_the_wall_limit) {
  const leaves_nothing guard;
  auto spec = attack_spec("burn_cpu");
  spec.limits.wall = std::chrono::seconds{1};
  const auto result = run_attack(std::move(spec));
  BOOST_TEST((result.outcome == outcome::timed_out), result.reason);
  BOOST_TEST((result.claim == claim::none));
}

BOOST_AUTO_TEST_CASE(a_candidate_that_closes_its_output_and_sleeps_ends_at_the_wall_limit) {
  const leaves_nothing guard;
  auto spec = attack_spec("close_and_sleep");
  spec.limits.wall = std::chrono::seconds{1};
  BOOST_TEST((run_attack(std::move(spec)).outcome == outcome::timed_out));
}

BOOST_AUTO_TEST_CASE(signals_do_not_arrive_at_the_harness) {
  signals_received = 0;
  struct sigaction count {
  }, before{};
  count.sa_handler = [](int) { ++signals_received; };
  ::sigaction(SIGUSR1, &count, &before);
  must_hold(attack_spec("signal_parent"));
  ::sigaction(SIGUSR1, &before, nullptr);
  BOOST_TEST(signals_received == 0);
}

BOOST_AUTO_TEST_CASE(no_process_of_the_host_can_be_signalled_or_seen) {
  must_hold(attack_spec("reach_processes"));
}

BOOST_AUTO_TEST_CASE(new_namespaces_and_mounts_are_refused) {
  must_hold(attack_spec("new_namespaces"));
}

BOOST_AUTO_TEST_CASE(three_gigabytes_into_the_run_folder_stop_at_the_disk_limit) {
  const leaves_nothing guard;
  auto spec = attack_spec("fill_disk");
  spec.limits.disk = 64 * MiB;
  const auto result = run_attack(std::move(spec));
  if (is_on_host()) {
    BOOST_TEST((result.outcome == outcome::output_too_large), result.reason);
    BOOST_TEST(result.reason.starts_with("more than 64 MiB in its folder"), result.reason);
    return;
  }
  BOOST_TEST((result.outcome == outcome::exited), result.reason);
  BOOST_TEST(result.stdout_kept.find("stopped by OSError 28 after 63 MiB") != std::string::npos, result.stdout_kept);
}

BOOST_AUTO_TEST_CASE(touching_more_memory_than_allowed_ends_the_run) {
  const leaves_nothing guard;
  auto spec = attack_spec("fill_memory");
  spec.limits.memory = spec.limits.data = 256 * MiB;
  const auto result = run_attack(std::move(spec));
  BOOST_TEST(result.stdout_kept.find("touched") == std::string::npos);
  if (host().level == test_level::full) {
    BOOST_TEST((result.outcome == outcome::out_of_memory), result.reason);
  } else {
    // RLIMIT_DATA refuses the reservation: the candidate sees it.
    BOOST_TEST((result.outcome == outcome::exited_nonzero), result.reason);
  }
}

BOOST_AUTO_TEST_CASE(a_gigabyte_on_stdout_ends_at_the_output_limit) {
  const leaves_nothing guard;
  auto spec = attack_spec("flood_stdout");
  spec.limits.output = 8 * MiB;
  const auto result = run_attack(std::move(spec));
  BOOST_TEST((result.outcome == outcome::output_too_large), result.reason);
  BOOST_TEST((result.claim == claim::none));
  BOOST_TEST(result.stdout_kept.size() < 2 * MiB);
}

BOOST_AUTO_TEST_CASE(a_fork_bomb_stops_at_the_process_limit_and_dies_whole) {
  const leaves_nothing guard;
  auto spec = attack_spec("fork_bomb");
  spec.limits.pids = 64;
  spec.limits.wall = std::chrono::seconds{3};
  const auto result = run_attack(std::move(spec));
  if (host().level == test_level::confined) {
    // The kernel counts by user, and the user has others: we count, and the run ends.
    BOOST_TEST((result.outcome == outcome::killed_by_signal), result.reason);
    BOOST_TEST(result.reason == "killed: more than 64 processes and threads");
    return;
  }
  BOOST_TEST((result.outcome == outcome::timed_out), result.reason);
  const auto at = result.stdout_kept.find("made ");
  BOOST_REQUIRE(at != std::string::npos);
  const auto made = std::stoi(result.stdout_kept.substr(at + 5));
  BOOST_TEST(made >= 32);
  BOOST_TEST(made <= 64);
}

BOOST_AUTO_TEST_CASE(pass_from_an_orphan_after_main_ended_is_not_counted) {
  const leaves_nothing guard;
  const auto result = run_attack(attack_spec("orphan_says_pass"));
  BOOST_TEST((result.outcome == outcome::exited), result.reason);
  BOOST_TEST((result.claim == claim::none));
  BOOST_TEST(result.left_behind == 1U);
}

BOOST_AUTO_TEST_CASE(pass_then_exit_1_claims_nothing) {
  const auto result = run_attack(attack_spec("pass_then_fail"));
  BOOST_TEST((result.outcome == outcome::exited_nonzero));
  BOOST_TEST(result.exit_code == 1);
  BOOST_TEST((result.claim == claim::none));
}

BOOST_AUTO_TEST_CASE(links_to_a_secret_are_not_followed_by_whoever_collects_files) {
  const leaves_nothing guard;
  auto spec = attack_spec("link_to_secret");
  spec.keep = {"stdout.txt", "stderr.txt", "kernel.ptx", "folder/passwd"};
  const auto result = run_attack(std::move(spec));
  BOOST_TEST((result.outcome == outcome::exited));
  BOOST_TEST(result.stdout_kept == "PASS\n");
  BOOST_REQUIRE(result.kept.size() == 4U);
  for (const auto& kept : result.kept) {
    BOOST_TEST(kept.content.empty(), kept.name);
    BOOST_TEST(!kept.problem.empty(), kept.name);
  }
}

BOOST_AUTO_TEST_CASE(an_undeletable_tree_leaves_nothing) {
  const leaves_nothing guard;
  const auto result = run_attack(attack_spec("undeletable_tree"));
  BOOST_TEST((result.outcome == outcome::exited), result.stderr_kept);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
