// SPDX-License-Identifier: Apache-2.0
#include "tests/node/sandbox_house.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// Of processes whose command line holds `mark`, seen from outside.
std::size_t processes_with(const std::string& mark) {
  std::size_t count = 0;
  std::error_code error;
  for (fs::directory_iterator at{"/proc", error}, end; !error && at != end; at.increment(error)) {
    std::ifstream file{at->path() / "cmdline"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    count += text.find(mark) != std::string::npos ? 1 : 0;
  }
  return count;
}

/// Forks, leaves the session, ignores SIGTERM, never ends. `mark` shows in each process's command line.
std::string stubborn(const std::string& mark) {
  return "import os, signal, subprocess, sys, time\n"
         "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         "code = 'import os, signal, time; os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); "
         "time.sleep(3600)'\n"
         "subprocess.Popen([sys.executable, '-c', code, '" +
         mark +
         "'])\n"
         "time.sleep(3600)\n";
}

std::string unique_mark(const std::string& name) {
  return "regatta-" + name + "-" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(evaluator_with_a_sandbox, sandbox_house)

BOOST_AUTO_TEST_CASE(a_candidate_that_passes_is_an_exit_with_a_claim) {
  if (!is_open()) {
    return;
  }
  start_evaluator(1);
  auto what = candidate(
      "import problem, os, sys\n"
      "open('note.txt', 'w').write('kept')\n"
      "print(problem.answer, os.getcwd(), sys.flags.no_user_site, 'PASS', chr(0))\n");
  what.keep = {"note.txt", "absent.txt"};
  const auto result = evaluate(what);
  BOOST_TEST(result.outcome == outcome::exited, result.reason << result.stderr_text);
  BOOST_TEST(result.claim == claim::run_tests);
  BOOST_TEST(result.stdout_text == "42 /run/job 1 PASS \xEF\xBF\xBD\n");
  BOOST_TEST(result.exit_code == 0);
  BOOST_TEST(result.engine == "cpu");
  BOOST_TEST(result.slot == "cpu-0");
  BOOST_TEST(result.gpu_uuid.empty());
  BOOST_TEST(result.python == "/usr/bin/python3");
  BOOST_TEST(result.sandbox_level == to_string(runner->obtained()));
  BOOST_TEST(result.started_us > 1'700'000'000'000'000);
  BOOST_TEST(result.elapsed.count() > 0);
  BOOST_TEST(result.kept.at(0).content == "kept");
  BOOST_TEST(!result.kept.at(1).problem.empty());
}

BOOST_AUTO_TEST_CASE(a_candidate_that_fails_says_how) {
  if (!is_open()) {
    return;
  }
  start_evaluator(2);
  const auto raised = evaluate(candidate("print('PASS')\nraise ValueError('wrong shape')\n", 1));
  BOOST_TEST(raised.outcome == outcome::exited_nonzero);
  BOOST_TEST(raised.claim == claim::none);
  BOOST_TEST(raised.stderr_text.find("candidate_main.py\", line 2") != std::string::npos);
  const auto killed = evaluate(candidate("import os\nos.kill(os.getpid(), 11)\n", 2));
  BOOST_TEST(killed.outcome == outcome::killed_by_signal);
  BOOST_TEST(killed.signal == 11);
  const auto silent = evaluate(candidate("import os\nos._exit(3)\n", 3));
  BOOST_TEST(silent.exit_code == 3);
}

BOOST_AUTO_TEST_CASE(a_candidate_that_hangs_ends_at_its_own_limit) {
  if (!is_open()) {
    return;
  }
  start_evaluator(1);
  auto what = candidate("while True: pass\n");
  what.limits.wall = 500ms;
  const auto result = evaluate(what);
  BOOST_TEST(result.outcome == outcome::timed_out);
  BOOST_TEST((result.elapsed >= 500ms));
  BOOST_TEST((result.elapsed < 10s));
}

BOOST_AUTO_TEST_CASE(a_cpu_slot_interprets_triton_and_hides_the_hosts_gpus) {
  if (!is_open()) {
    return;
  }
  host_environment["CUDA_VISIBLE_DEVICES"] = "3";
  host_environment["SECRET_KEY"] = "s";
  start_evaluator(1);
  const auto result =
      evaluate(candidate("import os\n"
                         "print(os.environ.get('TRITON_INTERPRET'), 'CUDA_VISIBLE_DEVICES' in "
                         "os.environ, 'SECRET_KEY' in os.environ)\n"));
  BOOST_TEST(result.stdout_text == "1 False False\n");
}

BOOST_AUTO_TEST_CASE(a_gpu_slot_shows_its_own_nodes_and_no_variable) {
  if (!is_open()) {
    return;
  }
  host_environment["CUDA_VISIBLE_DEVICES"] = "3";
  host_environment["TRITON_INTERPRET"] = "1";
  // Stand-ins for the nodes of two GPUs.
  gpu first{"GPU-first", "Fake", 0, 0, "9.0", {"/dev/full"}};
  gpu second{"GPU-second", "Fake", 1, 0, "9.0", {"/dev/tty"}};
  start_evaluator(1, {first, second});
  const auto result =
      evaluate(candidate("import os\n"
                         "print(os.environ.get('TRITON_INTERPRET'), 'CUDA_VISIBLE_DEVICES' in "
                         "os.environ, os.path.exists('/dev/full'), os.path.exists('/dev/tty'))\n"));
  BOOST_TEST(result.outcome == outcome::exited, result.reason);
  BOOST_TEST(result.stdout_text == "None False True False\n");
  BOOST_TEST(result.gpu_uuid == "GPU-first");
  BOOST_TEST(result.slot == "gpu-0");
  BOOST_TEST(result.engine == "cuda-sm_90");
}

BOOST_AUTO_TEST_CASE(a_gpu_without_its_node_is_our_failure) {
  if (!is_open()) {
    return;
  }
  start_evaluator(1, {{"GPU-gone", "Fake", 0, 0, "9.0", {"/dev/regatta-no-such-node"}}});
  const auto result = evaluate(candidate("print('PASS')\n"));
  BOOST_TEST(result.outcome == outcome::sandbox_failed);
  BOOST_TEST(result.claim == claim::none);
}

BOOST_AUTO_TEST_CASE(fifteen_stubborn_candidates_of_sixteen_are_gone_after_a_cancel) {
  if (!is_open()) {
    return;
  }
  start_evaluator(16);
  const auto mark = unique_mark("cancel");
  for (std::uint32_t i = 1; i <= 15; ++i) {
    BOOST_REQUIRE(ask<accepted>(evaluator, candidate(stubborn(mark), i)));
  }
  BOOST_REQUIRE(ask<accepted>(evaluator, candidate("print('PASS')\n", 16)));
  BOOST_REQUIRE(heard->wait_for_ends(1));
  BOOST_TEST(heard->ended()[0].worker.text == "worker_16");
  for (int i = 0; i < 600 && processes_with(mark) < 15; ++i) {
    usleep(50'000);  // the candidates' own work; nobody tells when they have forked
  }
  BOOST_TEST(processes_with(mark) == 15U);
  const auto signalled = ask<runs_signalled>(evaluator, cancel_runs{race_id{"race"}, {}});
  BOOST_TEST(signalled->running == 15U);
  BOOST_TEST(heard->wait_for_ends(16));
  BOOST_TEST(processes_with(mark) == 0U);
  const auto ended = heard->ended();
  BOOST_TEST(std::ranges::count_if(ended, [](const auto& x) { return x.result.outcome == outcome::cancelled; }) == 15);
}

BOOST_AUTO_TEST_CASE(an_expired_lease_kills_what_the_sandbox_let_live) {
  if (!is_open()) {
    return;
  }
  // As if the sandbox did not know the wall limit of 60 s: the lease ends first.
  start_evaluator(1, {}, {100ms, -59'500ms});
  const auto mark = unique_mark("lease");
  const auto result = evaluate(candidate(stubborn(mark)));
  BOOST_TEST(result.outcome == outcome::sandbox_failed);
  BOOST_TEST(result.reason.find("lease of cpu-0 expired") == 0U);
  BOOST_TEST(processes_with(mark) == 0U);
}

BOOST_AUTO_TEST_CASE(an_evaluator_that_is_killed_leaves_no_process) {
  if (!is_open()) {
    return;
  }
  start_evaluator(2);
  const auto mark = unique_mark("exit");
  BOOST_REQUIRE(ask<accepted>(evaluator, candidate(stubborn(mark), 1)));
  BOOST_REQUIRE(ask<accepted>(evaluator, candidate(stubborn(mark), 2)));
  for (int i = 0; i < 600 && processes_with(mark) < 2; ++i) {
    usleep(50'000);  // the candidates' own work; nobody tells when they have forked
  }
  caf::anon_send_exit(evaluator, caf::exit_reason::kill);
  for (int i = 0; i < 600 && (runner->running() > 0 || processes_with(mark) > 0); ++i) {
    usleep(10'000);  // the evaluator that would be told of their ends is dead
  }
  BOOST_TEST(processes_with(mark) == 0U);
}

BOOST_AUTO_TEST_CASE(sixty_runs_share_six_gpus) {
  if (!is_open()) {
    return;
  }
  std::vector<gpu> gpus;
  for (std::uint32_t i = 0; i < 6; ++i) {
    gpus.push_back({"GPU-" + std::to_string(i), "Fake", i, 0, "9.0", {}});
  }
  start_evaluator(1, gpus);
  for (std::uint32_t i = 1; i <= 60; ++i) {
    BOOST_REQUIRE(ask<accepted>(evaluator, candidate("import time\ntime.sleep(0.2)\nprint('PASS')\n", i)));
  }
  BOOST_TEST(heard->wait_for_ends(60));
  std::map<std::string, int> used;
  for (const auto& each : heard->ended()) {
    BOOST_TEST(each.result.claim == claim::run_tests);
    ++used[each.result.gpu_uuid];
  }
  BOOST_TEST(used.size() == 6U);
  // The sleeps alone are 12 s one after the other, and 2 s on six GPUs.
  for (const auto& [uuid, runs] : used) {
    BOOST_TEST(runs >= 5, uuid);
  }
}

BOOST_AUTO_TEST_CASE(a_triton_kernel_runs_in_the_interpreter_and_the_record_says_so) {
  const auto given = environment("REGATTA_PYTHON");
  if (given.empty() || std::system(("'" + given + "' -c 'import torch, triton' 2>/dev/null").c_str()) != 0) {
    skip("torch", "REGATTA_PYTHON names no interpreter with torch and triton");
    return;
  }
  if (!is_open() || !open(given)) {
    return;
  }
  start_evaluator(1);
  const auto result = evaluate(candidate(R"(
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, y, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

x = torch.randn(1000)
y = torch.empty_like(x)
double[(4,)](x, y, 1000, block=256)
print('PASS' if torch.allclose(y, 2 * x) else 'wrong')
)"));
  BOOST_TEST(result.claim == claim::run_tests, result.reason << "\n" << result.stderr_text);
  BOOST_TEST(result.engine == "triton-interpreter");
  BOOST_TEST(result.python == given);
}

BOOST_AUTO_TEST_SUITE_END()
