// SPDX-License-Identifier: Apache-2.0
// Zygotes come up, refuse, hang, die: no run is lost by it.
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <string>

namespace regatta::sandbox::test {

namespace {

/// A run whose zygote loads `module_source` first: a module that the runs themselves never see.
run_spec spec_with(const std::string& module_source, const std::string& source) {
  const auto folder = host().folder + "/modules";
  ::mkdir(folder.c_str(), 0755);
  static int made = 0;
  const auto name = "preloaded_" + std::to_string(++made);
  std::ofstream{folder + "/" + name + ".py"} << module_source;
  auto spec = python_spec(source);
  spec.environment["PYTHONPATH"] = folder;
  spec.preload = {name};
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
  BOOST_REQUIRE(run.wait_for(std::chrono::seconds{60}) == std::future_status::ready);
  return run.get();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(zygote)

BOOST_AUTO_TEST_CASE(one_that_has_threads_after_its_imports_refuses_and_the_run_starts_cold) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto result = end_of(start(
      *sandbox, spec_with("import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
                          "print('PASS')")));
  BOOST_TEST((result.claim == claim::run_tests), result.reason);
  BOOST_TEST(!result.is_warm);
  BOOST_TEST(result.why_cold.find("2 threads") != std::string::npos, result.why_cold);
}

BOOST_AUTO_TEST_CASE(one_that_gets_a_thread_later_hands_its_next_run_back) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto spec = spec_with("import os, threading, time\nos.register_at_fork(after_in_parent="
                              "lambda: threading.Thread(target=time.sleep, args=(600,), daemon=True).start())\n",
                              "print('PASS')");
  const auto first = end_of(start(*sandbox, spec));
  BOOST_TEST(first.is_warm, first.why_cold);
  const auto second = end_of(start(*sandbox, spec));
  BOOST_TEST(!second.is_warm);
  BOOST_TEST((second.claim == claim::run_tests), second.reason);
  BOOST_TEST(second.why_cold.find("could not fork") != std::string::npos, second.why_cold);
}

BOOST_AUTO_TEST_CASE(one_that_dies_at_its_imports_costs_only_warmth) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto result = end_of(start(*sandbox, spec_with("import os\nos._exit(3)\n", "print('PASS')")));
  BOOST_TEST((result.claim == claim::run_tests), result.reason);
  BOOST_TEST(result.why_cold == "no zygote: it died");
}

BOOST_AUTO_TEST_CASE(a_module_that_raises_is_told) {
  const auto sandbox = open_runner();
  const auto result = end_of(start(*sandbox, spec_with("raise ValueError('broken module')\n", "print('PASS')")));
  BOOST_TEST((result.claim == claim::run_tests), result.reason);
  BOOST_TEST(result.why_cold == "no zygote: ValueError: broken module");
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_for_one_can_be_cancelled_and_others_go_on) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  run_handle waiting = 0;
  auto end = start(*sandbox, spec_with("import time\ntime.sleep(600)\n", "print('PASS')"), &waiting);
  auto other = python_spec("print('PASS')");
  other.preload.reset();
  BOOST_TEST((end_of(start(*sandbox, other)).claim == claim::run_tests));
  sandbox->cancel(waiting);
  BOOST_TEST((end_of(std::move(end)).outcome == outcome::cancelled));
}

BOOST_AUTO_TEST_CASE(what_is_written_to_a_helper_that_waits_arrives) {
  const auto sandbox = open_runner();
  const auto spec = spec_with("import time\ntime.sleep(0.3)\n", "import sys\nprint(sys.stdin.read(4), flush=True)\n");
  std::promise<run_result> ended;
  std::string text;
  const auto handle = sandbox->start_interactive(
      spec, [&](std::string_view piece) { text.append(piece); },
      [&](run_result result) { ended.set_value(std::move(result)); });
  sandbox->write(handle, "one\n");
  const auto result = ended.get_future().get();
  BOOST_TEST(result.is_warm, result.why_cold);
  BOOST_TEST(text == "one\n\n");
}

BOOST_AUTO_TEST_CASE(the_death_of_one_ends_its_runs_and_no_others) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto cold = python_spec("import time\ntime.sleep(2)\nprint('PASS')");
  cold.preload.reset();
  auto other = start(*sandbox, cold);
  const auto spec = spec_with("", "import time\nprint('ready', flush=True)\ntime.sleep(600)");
  auto end = start(*sandbox, spec);
  wait_for_processes(4);
  for (const auto pid : zygote_pids()) {
    ::kill(pid, SIGKILL);
  }
  const auto lost = end_of(std::move(end));
  BOOST_TEST(lost.is_warm);
  BOOST_TEST((lost.outcome == outcome::sandbox_failed), lost.reason);
  BOOST_TEST((end_of(std::move(other)).claim == claim::run_tests));
  auto again = spec;
  again.files = python_spec("print('PASS')").files;
  const auto next = end_of(start(*sandbox, again));
  BOOST_TEST((next.claim == claim::run_tests), next.reason);
  BOOST_TEST(next.why_cold == "no zygote: it died");
}

BOOST_AUTO_TEST_CASE(each_run_has_the_devices_of_its_own_and_its_zygote_none) {
  std::vector<std::string> there;
  for (const char* node : {"/dev/fuse", "/dev/loop-control", "/dev/kmsg", "/dev/ptmx", "/dev/tty", "/dev/mem"}) {
    if (::access(node, F_OK) == 0) {
      there.emplace_back(node);
    }
  }
  BOOST_REQUIRE(there.size() >= 2U);
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto spec = spec_with("", "import os\nprint(sorted(x for x in os.listdir('/dev') if '/dev/' + x in " +
                                std::string{"['" + there[0] + "', '" + there[1] + "']), 'PASS')"});
  for (const auto& node : {there[0], there[1]}) {
    spec.devices = {node};
    const auto result = end_of(start(*sandbox, spec));
    BOOST_TEST(result.is_warm, result.why_cold);
    BOOST_TEST(result.stdout_kept.starts_with("['" + node.substr(5) + "']"), result.stdout_kept << result.stderr_kept);
  }
  BOOST_TEST(zygote_pids().size() == 1U);
}

BOOST_AUTO_TEST_CASE(helpers_of_the_kernel_compiler_are_found_in_each_runs_own_cache_and_cannot_be_written) {
  const leaves_nothing guard;
  const auto folder = host().folder + "/helpers";
  ::mkdir(folder.c_str(), 0755);
  ::mkdir((folder + "/KEY").c_str(), 0755);
  std::ofstream{folder + "/KEY/helper.so"} << "built by us";
  const auto sandbox = open_runner();
  auto spec = spec_with("", R"(import os
here = os.environ["TRITON_CACHE_DIR"] + "/KEY/helper.so"
print(open(here).read())
for attempt in (lambda: open(here, "w"), lambda: os.unlink(here), lambda: os.mkdir(os.path.dirname(here) + "/x")):
    try:
        attempt()
    except OSError:
        continue
    raise SystemExit("written")
os.mkdir(os.environ["TRITON_CACHE_DIR"] + "/OWN")
print("PASS")
)");
  spec.environment["TRITON_CACHE_DIR"] = "/run/job/.cache/triton";
  spec.kernel_helpers = folder;
  spec.readable.push_back({folder, true});
  const auto result = end_of(start(*sandbox, spec));
  BOOST_TEST(result.is_warm, result.why_cold);
  BOOST_TEST((result.claim == claim::run_tests), result.stdout_kept << result.stderr_kept);
  BOOST_TEST(result.stdout_kept.starts_with("built by us"), result.stdout_kept);
}

BOOST_AUTO_TEST_CASE(they_end_with_the_runner) {
  const leaves_nothing guard;
  {
    const auto sandbox = open_runner();
    BOOST_TEST(end_of(start(*sandbox, spec_with("", "print('PASS')"))).is_warm);
    BOOST_TEST(zygote_pids().size() == 1U);
  }
  BOOST_TEST(zygote_pids().empty());
}

BOOST_AUTO_TEST_CASE(a_runner_without_them_starts_cold) {
  auto config = config_for_level();
  config.allow_warm = false;
  std::string error;
  const auto sandbox = runner::open(config, host().facts, error);
  BOOST_REQUIRE_MESSAGE(sandbox, error);
  const auto result = end_of(start(*sandbox, spec_with("", "print('PASS')")));
  BOOST_TEST((result.claim == claim::run_tests));
  BOOST_TEST(result.why_cold == "switched off");
  BOOST_TEST(zygote_pids().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
