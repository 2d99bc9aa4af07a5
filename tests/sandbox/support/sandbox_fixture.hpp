// SPDX-License-Identifier: Apache-2.0
/// \file
/// A real runner at the level that the test program was started for, and looks from outside at what runs left behind.
/// REGATTA_SANDBOX_TEST_LEVEL is L4, L3-root, L3-user (the program, started as root, first becomes an ordinary user),
/// L2-docker, L1-docker (it enters a likeness of Docker's defaults, as root and as a user) or L1-abi5 (with a Landlock
/// that knows no scopes). If the host cannot offer the level, the program says SKIPPED and ends, or fails if
/// REGATTA_REQUIRE names `sandbox`.
#pragma once

#include "sandbox/interpreter.hpp"
#include "sandbox/runner.hpp"

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace regatta::sandbox::test {

enum class test_level { full, namespaced_root, namespaced_user, slot_uid, confined };

/// Shared by all cases of the program.
struct test_host {
  test_level level = test_level::full;
  regatta::sandbox::level at_most = regatta::sandbox::level::full;
  bool is_warm = false;  ///< REGATTA_SANDBOX_TEST_WARM: Python candidates start warm.
  host_facts facts;
  interpreter python;
  std::string folder;      ///< Ours on disk, removed at the end.
  std::string canary;      ///< A file with the secret in our HOME.
  std::string canary_tmp;  ///< … and one in /tmp.
  std::string secret;      ///< Also in our environment as API_KEY.
};
const test_host& host();
/// Runs see the host's processes and files as far as they may: L2 and L1.
bool is_on_host();

runner_config config_for_level();
/// Fails the test if it cannot be opened.
std::unique_ptr<runner> open_runner();

/// The text of a file in tests/sandbox/attacks, read before any right was given up.
std::string attack_source(const std::string& name);

/// A Python candidate with short limits: 20 s wall, 1 GiB.
run_spec python_spec(const std::string& source);
/// … from tests/sandbox/attacks.
run_spec attack_spec(const std::string& name);
/// Any program.
run_spec program_spec(std::vector<std::string> argv);

/// Starts and waits; 60 s are a failure.
run_result run(runner& sandbox, run_spec spec);

/// Processes that runs of this program left: in a pid namespace below ours, with our mark in their environment, or below
/// our forker.
std::vector<pid_t> survivors();
/// Polls until there are `count` at least, 30 s at most; fails the test else. A run without children is two: its pid 1
/// and the candidate.
void wait_for_processes(std::size_t count = 2);
/// Polls until there are none, 5 s at most: for what ends asynchronously after a SIGKILL of ours.
bool are_all_gone();
/// The forker's pid: the only child of ours that is named so.
pid_t forker_pid();
/// Children of ours that are zygotes.
std::vector<pid_t> zygote_pids();

/// Groups, or leaves in them, that the runner of this process made.
std::vector<std::string> cgroups_of(pid_t runner);

/// Checks mounts, cgroups and files against the state when the guard was made, and that no process is left.
class leaves_nothing {
public:
  leaves_nothing();
  ~leaves_nothing() noexcept(false);

private:
  std::string mounts_;
  std::vector<std::string> files_;
};

/// Says loudly that a case is left out; fails it if REGATTA_REQUIRE names `feature`.
void leave_out_case(const std::string& feature, const std::string& why);

}  // namespace regatta::sandbox::test
