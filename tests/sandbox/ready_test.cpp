// SPDX-License-Identifier: Apache-2.0
// Processes that wait for runs: what they give a run, and that nothing of them is left. Any device node stands for a GPU.
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

namespace regatta::sandbox::test {

namespace {

using namespace std::chrono_literals;

std::string some_device() {
  for (const char* node : {"/dev/fuse", "/dev/loop-control", "/dev/kmsg", "/dev/ptmx", "/dev/tty", "/dev/mem"}) {
    if (::access(node, F_OK) == 0) {
      return node;
    }
  }
  return {};
}

run_spec gpu_spec(const std::string& source) {
  auto spec = python_spec(source);
  spec.preload = {"json"};
  spec.devices = {some_device()};
  spec.ready = 1;
  return spec;
}

std::future<run_result> start(runner& sandbox, run_spec spec, run_handle* handle = nullptr) {
  auto promise = std::make_shared<std::promise<run_result>>();
  const auto started =
      sandbox.start(std::move(spec), [promise](run_result result) { promise->set_value(std::move(result)); });
  if (handle != nullptr) {
    *handle = started;
  }
  return promise->get_future();
}

run_result end_of(std::future<run_result> run) {
  BOOST_REQUIRE(run.wait_for(60s) == std::future_status::ready);
  return run.get();
}

/// Runs until one was served by a process that had waited.
run_result served(runner& sandbox, const run_spec& spec) {
  for (int i = 0; i < 200; ++i) {
    auto result = end_of(start(sandbox, spec));
    if (result.was_ready) {
      return result;
    }
    std::this_thread::sleep_for(20ms);
  }
  BOOST_FAIL("no process came to wait");
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ready)

BOOST_AUTO_TEST_CASE(a_run_finds_its_files_arguments_streams_and_devices_in_a_process_that_waited) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto spec = gpu_spec(R"(
import os, sys, problem
print(sorted(os.listdir("/proc/self/fd"))[:4], len(os.listdir("/proc/self/fd")))
print(sys.argv, problem.x, sys.stdin.read() == "", os.path.exists(")" + some_device() + R"("))
print("to stderr", file=sys.stderr)
for attempt in (lambda: open("problem.py", "w"), lambda: os.kill(1, 9)):
    try:
        attempt()
    except OSError:
        continue
print("PASS")
)");
  spec.argv.emplace_back("--word");
  spec.files.push_back({"problem.py", "x = 42\n"});
  const auto mask = ::umask(0077);  // as a program's own may be
  auto cold = spec;
  cold.preload.reset();
  const auto expected = end_of(start(*sandbox, cold));
  const auto result = served(*sandbox, spec);
  ::umask(mask);
  BOOST_TEST((result.claim == claim::run_tests), result.reason << result.stderr_kept);
  BOOST_TEST(result.is_warm);
  BOOST_TEST(result.stdout_kept == expected.stdout_kept);
  BOOST_TEST(result.stderr_kept == expected.stderr_kept);
}

BOOST_AUTO_TEST_CASE(each_process_serves_one_run_and_no_trace_is_in_the_next) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto first = served(*sandbox, gpu_spec("import json, os\njson.poison = 1\nopen('/tmp/trace', 'w').close()\nprint(os.getpid(), 'PASS')"));
  const auto second = served(*sandbox, gpu_spec("import json, os\nprint(os.path.exists('/tmp/trace'), hasattr(json, 'poison'), 'PASS')"));
  BOOST_TEST((first.claim == claim::run_tests), first.reason);
  BOOST_TEST(second.stdout_kept.starts_with("False False"), second.stdout_kept);
}

BOOST_AUTO_TEST_CASE(the_wall_limit_begins_when_the_run_comes_and_ends_it) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  served(*sandbox, gpu_spec("print('PASS')"));
  auto endless = gpu_spec("import time\ntime.sleep(600)");
  endless.limits.wall = 700ms;
  for (int i = 0; i < 20; ++i) {
    const auto result = end_of(start(*sandbox, endless));
    BOOST_TEST((result.outcome == outcome::timed_out), result.reason);
    BOOST_TEST(result.elapsed.count() >= 700'000);
    if (result.was_ready) {
      return;
    }
  }
  BOOST_FAIL("no process came to wait");
}

BOOST_AUTO_TEST_CASE(a_run_in_it_can_be_cancelled) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  served(*sandbox, gpu_spec("print('PASS')"));
  std::this_thread::sleep_for(500ms);
  run_handle handle = 0;
  auto end = start(*sandbox, gpu_spec("import time\ntime.sleep(600)"), &handle);
  std::this_thread::sleep_for(100ms);
  sandbox->cancel(handle);
  BOOST_TEST((end_of(std::move(end)).outcome == outcome::cancelled));
}

BOOST_AUTO_TEST_CASE(none_waits_beside_a_run_that_is_alone_and_they_come_back_after_it) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  served(*sandbox, gpu_spec("print('PASS')"));
  auto alone = gpu_spec("import os\nprint('PASS')");
  alone.is_alone = true;
  const auto result = end_of(start(*sandbox, alone));
  BOOST_TEST((result.claim == claim::run_tests), result.reason);
  BOOST_TEST(!result.was_ready);
  BOOST_TEST(sandbox->running() == 0U);
  BOOST_TEST(served(*sandbox, gpu_spec("print('PASS')")).was_ready);
}

BOOST_AUTO_TEST_CASE(one_that_is_killed_while_it_waits_costs_no_run) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  served(*sandbox, gpu_spec("print('PASS')"));
  std::this_thread::sleep_for(500ms);
  for (const auto pid : zygote_pids()) {
    ::kill(pid, SIGKILL);  // and all that it forked
  }
  const auto result = end_of(start(*sandbox, gpu_spec("print('PASS')")));
  BOOST_TEST((result.claim == claim::run_tests || result.outcome == outcome::sandbox_failed), result.reason);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
