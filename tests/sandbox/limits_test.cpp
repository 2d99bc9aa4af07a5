// SPDX-License-Identifier: Apache-2.0
// Each limit, and how its breach is told.
#include "sandbox/candidate.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <future>

namespace regatta::sandbox::test {

namespace {

run_result run_python(const std::string& source, const run_limits& limits) {
  auto spec = python_spec(source);
  spec.limits = limits;
  const auto sandbox = open_runner();
  return run(*sandbox, std::move(spec));
}

/// From the limit until the tree is gone. A kill takes milliseconds; a machine that is busy with other tests more.
constexpr std::chrono::seconds most_overrun{5};

run_limits short_limits() {
  return python_spec("").limits;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(limit)

// Kind B25: an evaluation runs far beyond its limit (openevolve #79).
BOOST_AUTO_TEST_CASE(an_endless_loop_is_dead_at_its_wall_limit) {
  const leaves_nothing guard;
  auto limits = short_limits();
  limits.wall = std::chrono::milliseconds{700};
  const auto result = run_python("while True: pass", limits);
  BOOST_TEST((result.outcome == outcome::timed_out), result.reason);
  BOOST_TEST(result.reason == "timed out after 700 ms");
  BOOST_TEST(result.elapsed.count() >= 700'000);
  BOOST_TEST(result.elapsed < limits.wall + most_overrun);
  BOOST_TEST(result.killed_in.count() > 0);
  BOOST_TEST((result.level == config_for_level().at_most));
}

// Kind B26: limits that start only when somebody looks at the result (openevolve #409).
BOOST_AUTO_TEST_CASE(ten_sleepers_each_end_at_their_own_limit) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  std::vector<std::future<run_result>> all;
  for (int i = 0; i < 10; ++i) {
    auto spec = program_spec({"/bin/sleep", "600"});
    spec.limits.wall = std::chrono::milliseconds{300 + 50 * i};
    auto promise = std::make_shared<std::promise<run_result>>();
    all.push_back(promise->get_future());
    sandbox->start(std::move(spec), [promise](run_result result) { promise->set_value(std::move(result)); });
  }
  for (int i = 0; i < 10; ++i) {
    const auto result = all[static_cast<std::size_t>(i)].get();
    const std::chrono::milliseconds own{300 + 50 * i};
    BOOST_TEST(result.reason == "timed out after " + std::to_string(own.count()) + " ms");
    BOOST_TEST((result.elapsed >= own && result.elapsed < own + most_overrun), result.elapsed.count());
  }
}

BOOST_AUTO_TEST_CASE(the_cpu_limit_is_a_timeout) {
  auto limits = short_limits();
  limits.cpu = std::chrono::seconds{1};
  const auto result = run_python("print('PASS', flush=True)\nwhile True: pass", limits);
  BOOST_TEST((result.outcome == outcome::timed_out), result.reason);
  BOOST_TEST(result.reason == "used more than 1 s of CPU time");
  BOOST_TEST((result.claim == claim::none));
}

BOOST_AUTO_TEST_CASE(the_cpu_limit_holds_for_who_ignores_its_signal) {
  auto limits = short_limits();
  limits.cpu = std::chrono::seconds{1};
  const auto result =
      run_python("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", limits);
  BOOST_TEST((result.outcome == outcome::timed_out), result.reason);
}

BOOST_AUTO_TEST_CASE(memory_of_the_whole_tree_is_bounded) {
  const leaves_nothing guard;
  auto limits = short_limits();
  limits.memory = 200 * MiB;
  limits.data = 200 * MiB;
  // Four processes of 120 MiB each: no single one is too large.
  const auto result = run_python(R"(
import os, time
for _ in range(4):
    if os.fork() == 0:
        x = bytearray(120 << 20)
        for i in range(0, len(x), 4096):
            x[i] = 1
        time.sleep(600)
time.sleep(600)
)",
                                 limits);
  // Where a cgroup kills one child, main sleeps on and ends at the wall limit in v1; v2 kills the group.
  if (host().level == test_level::full) {
    BOOST_TEST((result.outcome == outcome::out_of_memory || result.outcome == outcome::timed_out), result.reason);
    BOOST_TEST(result.peak_memory <= 201 * MiB);
  } else {
    BOOST_TEST((result.outcome == outcome::out_of_memory), result.reason);
  }
}

// RLIMIT_DATA does not count it, and what is shared does not show as a process's own.
BOOST_AUTO_TEST_CASE(memory_that_could_be_shared_is_bounded_too) {
  const leaves_nothing guard;
  auto limits = short_limits();
  limits.memory = limits.data = 200 * MiB;
  const auto result = run_python(R"(
import mmap, time
area = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 4096):
    area[at] = 1
time.sleep(600)
)",
                                 limits);
  BOOST_TEST((result.outcome == outcome::out_of_memory), result.reason);
}

BOOST_AUTO_TEST_CASE(a_memory_error_is_told_with_a_hint_or_as_out_of_memory) {
  auto limits = short_limits();
  limits.memory = limits.data = 200 * MiB;
  const auto result = run_python("x = bytearray(900 << 20)", limits);
  if (host().level == test_level::full) {
    BOOST_TEST((result.outcome == outcome::out_of_memory), result.reason);
  } else {
    BOOST_TEST(result.reason == "exit status 1 (MemoryError under a data limit of 200 MiB for each process)");
  }
}

// Kind D76: builds that need more memory than there is, and an error that does not say so (flash-attention #2051).
BOOST_AUTO_TEST_CASE(sixteen_builds_that_allocate_too_much_are_told_as_such) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  std::vector<std::future<run_result>> all;
  for (int i = 0; i < 16; ++i) {
    auto spec = python_spec("x = bytearray(1 << 30)\nprint('built')");
    spec.limits.memory = spec.limits.data = 128 * MiB;
    auto promise = std::make_shared<std::promise<run_result>>();
    all.push_back(promise->get_future());
    sandbox->start(std::move(spec), [promise](run_result result) { promise->set_value(std::move(result)); });
  }
  for (auto& future : all) {
    const auto result = future.get();
    const bool is_named =
        result.outcome == outcome::out_of_memory || result.reason.find("MemoryError") != std::string::npos;
    BOOST_TEST(is_named, result.reason);
  }
}

BOOST_AUTO_TEST_CASE(open_files_and_file_size_are_bounded) {
  auto limits = short_limits();
  limits.open_files = 64;
  limits.file = 1 * MiB;
  const auto result = run_python(R"(
import os
files = []
try:
    while True:
        files.append(open("/dev/null"))
except OSError as error:
    print("open", error.errno)
files.clear()
try:
    with open("big", "wb") as file:
        file.write(b"x" * (2 << 20))
except OSError as error:
    print("write", error.errno)
)",
                                 limits);
  BOOST_TEST(result.stdout_kept == "open 24\nwrite 27\n");
}

BOOST_AUTO_TEST_CASE(each_of_the_three_folders_has_its_own_disk_limit) {
  if (is_on_host()) {
    return;  // there is one folder, and it is looked at: see below
  }
  auto limits = short_limits();
  limits.disk = 4 * MiB;
  const auto result = run_python(R"(
for folder in ("/run/job", "/tmp", "/dev/shm"):
    written = 0
    try:
        with open(folder + "/fill", "wb", buffering=0) as file:
            while True:
                written += file.write(b"x" * (1 << 16))
    except OSError as error:
        print(folder, error.errno, written <= 4 << 20)
)",
                                 limits);
  BOOST_TEST(result.stdout_kept == "/run/job 28 True\n/tmp 28 True\n/dev/shm 28 True\n");
}

BOOST_AUTO_TEST_CASE(many_small_files_and_deep_folders_are_found_by_whoever_looks) {
  if (!is_on_host()) {
    return;  // the kernel keeps these limits
  }
  const leaves_nothing guard;
  auto limits = short_limits();
  limits.disk = 4 * MiB;
  for (const char* source : {"import os\nfor i in range(4000): open(f'f{i}', 'w').write('x')\nwhile True: pass",
                             "import os\nfor i in range(2500):\n os.mkdir('d')\n os.chdir('d')\nwhile True: pass"}) {
    const auto result = run_python(source, limits);
    BOOST_TEST((result.outcome == outcome::output_too_large), result.reason);
  }
}

// Kind B34: a limit together with much output (inspect_ai #1998).
BOOST_AUTO_TEST_CASE(an_endless_printer_ends_at_its_wall_limit_and_its_log_is_bounded) {
  const leaves_nothing guard;
  auto limits = short_limits();
  limits.wall = std::chrono::seconds{1};
  limits.output = 64 * GiB;
  const auto result = run_python("while True: print('x' * 1000)", limits);
  BOOST_TEST((result.outcome == outcome::timed_out), result.reason);
  BOOST_TEST(result.stdout_kept.size() < 2 * MiB);
}

// With more processes than cores, our own threads must not wait for theirs: a cancel would take as long as hundreds of
// processes need to die.
BOOST_AUTO_TEST_CASE(a_candidate_and_its_children_stand_behind_us_and_cannot_step_forward) {
  const auto result = run_python(R"(
import os, resource
def tell(who):
    print(who, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0) == os.SCHED_BATCH, flush=True)
def attempt(what, *arguments):
    try:
        what(*arguments)
        print('got forward by', what.__name__, arguments)
    except (OSError, ValueError):
        pass
attempt(resource.setrlimit, resource.RLIMIT_NICE, (40, 40))
attempt(resource.setrlimit, resource.RLIMIT_RTPRIO, (1, 1))
now = os.getpriority(os.PRIO_PROCESS, 0)
for which in (os.PRIO_PROCESS, os.PRIO_PGRP, os.PRIO_USER):
    attempt(os.setpriority, which, 0, now - 1)
for policy in (os.SCHED_FIFO, os.SCHED_RR):
    attempt(os.sched_setscheduler, 0, policy, os.sched_param(1))
tell('main')
if os.fork() == 0:
    os.setsid()
    tell('child')
    os._exit(0)
os.wait()
)",
                                 short_limits());
  constexpr int weakest = 19;
  const auto nice = std::to_string(std::min(weakest, ::getpriority(PRIO_PROCESS, 0) + candidate_nice));
  BOOST_TEST(result.stdout_kept == "main " + nice + " True\nchild " + nice + " True\n", result.stderr_kept);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
