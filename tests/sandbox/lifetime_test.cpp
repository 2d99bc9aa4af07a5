// SPDX-License-Identifier: Apache-2.0
// Ends of runs, of the forker, of the runner: nothing hangs, nothing stays.
#include "sandbox/linux_api.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <sstream>

namespace regatta::sandbox::test {

namespace {

using result_promise = std::promise<run_result>;

struct started_run {
  run_handle handle = 0;
  std::future<run_result> end;
};

started_run start(runner& sandbox, run_spec spec) {
  auto promise = std::make_shared<result_promise>();
  auto end = promise->get_future();
  const auto handle =
      sandbox.start(std::move(spec), [promise](run_result result) { promise->set_value(std::move(result)); });
  return {handle, std::move(end)};
}

run_result wait_for(started_run& run) {
  BOOST_REQUIRE(run.end.wait_for(std::chrono::seconds{60}) == std::future_status::ready);
  return run.end.get();
}

const char* const stubborn_family = R"(
import os, signal, time
for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(n, signal.SIG_IGN)
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        time.sleep(600)
time.sleep(600)
)";

}  // namespace

BOOST_AUTO_TEST_SUITE(lifetime)

BOOST_AUTO_TEST_CASE(cancel_kills_a_family_that_ignores_sigterm_and_left_its_session) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto running = start(*sandbox, python_spec(stubborn_family));
  wait_for_processes();
  sandbox->cancel(running.handle);
  const auto result = wait_for(running);
  BOOST_TEST((result.outcome == outcome::cancelled), result.reason);
  BOOST_TEST(result.killed_in.count() > 0);
  BOOST_TEST(sandbox->running() == 0U);
}

// Kind B38: a kill by name, group or number meets the harness or a stranger (TensorRT-LLM #16404).
BOOST_AUTO_TEST_CASE(cancel_ends_its_own_tree_and_no_bystander) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  // The same command line, in our own process group: all that a careless kill would go by.
  const auto bystander = ::fork();
  if (bystander == 0) {
    ::execl("/bin/sleep", "/bin/sleep", "600", nullptr);
    ::_exit(127);
  }
  auto neighbour = start(*sandbox, program_spec({"/bin/sleep", "600"}));
  auto running = start(*sandbox, program_spec({"/bin/sh", "-c", "setsid /bin/sleep 600 & exec /bin/sleep 600"}));
  wait_for_processes(5);
  sandbox->cancel(running.handle);
  BOOST_TEST((wait_for(running).outcome == outcome::cancelled));
  BOOST_TEST(::kill(bystander, 0) == 0);
  BOOST_TEST(::waitpid(bystander, nullptr, WNOHANG) == 0);
  BOOST_TEST(survivors().size() == 2U);
  // Its number may be another's by now; the order goes by the run and finds none.
  sandbox->cancel(running.handle);
  BOOST_TEST(survivors().size() == 2U);
  sandbox->cancel(neighbour.handle);
  BOOST_TEST((wait_for(neighbour).outcome == outcome::cancelled));
  ::kill(bystander, SIGKILL);
  ::waitpid(bystander, nullptr, 0);
}

BOOST_AUTO_TEST_CASE(cancel_right_after_start_and_twice_and_too_late_is_safe) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  for (int i = 0; i < 20; ++i) {
    auto running = start(*sandbox, program_spec({"/bin/sleep", "600"}));
    sandbox->cancel(running.handle);
    sandbox->cancel(running.handle);
    BOOST_TEST((wait_for(running).outcome == outcome::cancelled));
    sandbox->cancel(running.handle);
  }
  sandbox->cancel(999'999);
}

// Kind B41: killing the parent leaves worker children (pytorch #5736).
BOOST_AUTO_TEST_CASE(multiprocessing_children_go_with_their_parent) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto running = start(*sandbox, python_spec(R"(
import multiprocessing, time
if __name__ == "__main__":
    children = [multiprocessing.Process(target=time.sleep, args=(600,)) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
)"));
  // pid 1, main and its four.
  wait_for_processes(6);
  sandbox->cancel(running.handle);
  BOOST_TEST((wait_for(running).outcome == outcome::cancelled));
}

// Kind B31: a timeout that ends the direct child only (KernelAgent).
BOOST_AUTO_TEST_CASE(a_daemon_that_main_leaves_behind_is_dead_before_the_result) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto result = run(*sandbox, program_spec({"/bin/sh", "-c", "setsid sleep 600 & echo PASS"}));
  BOOST_TEST((result.outcome == outcome::exited));
  BOOST_TEST((result.claim == claim::run_tests));
  BOOST_TEST(result.left_behind == 1U);
}

// Kind B32: a grandchild holds the pipe open (plumbum #840).
BOOST_AUTO_TEST_CASE(a_grandchild_that_holds_stdout_does_not_delay_the_result) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto result = run(*sandbox, program_spec({"/bin/sh", "-c", "sleep 30 & echo hi"}));
  BOOST_TEST(result.stdout_kept == "hi\n");
  BOOST_TEST(result.elapsed.count() < 10'000'000);
}

// Kind B40: only the shell in front of the candidate is killed (SREGym #857).
BOOST_AUTO_TEST_CASE(a_candidate_behind_a_shell_wrapper_dies_with_it) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto spec = program_spec({"/bin/sh", "-c", "/bin/sh -c 'sleep 600; true'; true"});
  spec.limits.wall = std::chrono::milliseconds{500};
  BOOST_TEST((run(*sandbox, std::move(spec)).outcome == outcome::timed_out));
}

// Kind B35: more output than a pipe holds, read only after the exit (kernelbot).
BOOST_AUTO_TEST_CASE(a_record_of_200_kib_at_the_end_arrives_whole) {
  const auto sandbox = open_runner();
  const auto result = run(*sandbox, python_spec("print('r' * 204800, end='')"));
  BOOST_TEST(result.stdout_kept.size() == 204'800U);
}

// Kind B47: a failure without a word ends the whole batch (MultiKernelBench).
BOOST_AUTO_TEST_CASE(a_silent_failure_in_the_middle_leaves_the_others_alone) {
  const auto sandbox = open_runner();
  for (int i = 0; i < 5; ++i) {
    const auto result = run(*sandbox, program_spec({"/bin/sh", "-c", i == 1 ? "exit 3" : "echo PASS"}));
    BOOST_TEST(result.exit_code == (i == 1 ? 3 : 0));
    BOOST_TEST((result.claim == claim::run_tests) == (i != 1));
  }
}

// Kind B29: a candidate kills its parent, and every later one fails (openevolve #246).
BOOST_AUTO_TEST_CASE(a_candidate_that_kills_everything_in_reach_ends_only_itself) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto other = start(*sandbox, program_spec({"/bin/sh", "-c", "sleep 1; echo PASS"}));
  const auto result = run(*sandbox, python_spec(R"(
import os, signal
for pid in [os.getppid(), 1, -1]:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
print("alive")
)"));
  BOOST_TEST((result.outcome == outcome::exited), result.reason);
  BOOST_TEST((wait_for(other).claim == claim::run_tests));
  BOOST_TEST((run(*sandbox, program_spec({"/bin/true"})).outcome == outcome::exited));
}

BOOST_AUTO_TEST_CASE(a_killed_forker_ends_its_runs_as_failed_and_is_replaced) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto spec = python_spec(stubborn_family);
  spec.preload.reset();  // the forker's own run
  auto first = start(*sandbox, std::move(spec));
  auto second = start(*sandbox, program_spec({"/bin/sleep", "600"}));
  wait_for_processes();
  ::kill(forker_pid(), SIGKILL);
  for (auto* running : {&first, &second}) {
    const auto result = wait_for(*running);
    BOOST_TEST((result.outcome == outcome::sandbox_failed), result.reason);
  }
  BOOST_TEST(are_all_gone());
  BOOST_TEST((run(*sandbox, program_spec({"/bin/true"})).outcome == outcome::exited));
}

// Without a pid namespace nothing ends with its first process by itself.
BOOST_AUTO_TEST_CASE(a_killed_first_process_leaves_no_tree_and_no_folder) {
  if (!is_on_host()) {
    return;
  }
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto running = start(*sandbox, python_spec(stubborn_family));
  auto other = start(*sandbox, program_spec({"/bin/sh", "-c", "sleep 1; echo PASS"}));
  wait_for_processes(8);  // two of those that watch, main and its four, one shell at least
  const auto forker = std::to_string(forker_pid());
  std::istringstream children{linux_api::read_file("/proc/" + forker + "/task/" + forker + "/children")};
  pid_t first = -1;
  BOOST_REQUIRE(children >> first);
  ::kill(first, SIGKILL);
  const auto result = wait_for(running);
  BOOST_TEST((result.outcome == outcome::sandbox_failed), result.reason);
  BOOST_TEST((wait_for(other).claim == claim::run_tests));
}

// Kind B28: the program's end waits for a stuck candidate (openevolve #399).
BOOST_AUTO_TEST_CASE(a_stopped_runner_ends_all_runs_and_reports_each) {
  const leaves_nothing guard;
  auto sandbox = open_runner();
  auto first = start(*sandbox, python_spec(stubborn_family));
  auto second = start(*sandbox, program_spec({"/bin/sleep", "600"}));
  wait_for_processes();
  sandbox.reset();
  BOOST_TEST((wait_for(first).outcome == outcome::cancelled));
  BOOST_TEST((wait_for(second).outcome == outcome::cancelled));
}

BOOST_AUTO_TEST_CASE(a_forker_that_was_stopped_does_not_hold_up_the_end) {
  auto sandbox = open_runner();
  const auto forker = forker_pid();
  ::kill(forker, SIGSTOP);
  sandbox.reset();
  BOOST_TEST(::kill(forker, 0) != 0, "it is gone, and reaped");
}

BOOST_AUTO_TEST_CASE(the_done_callback_may_start_the_next_run) {
  const auto sandbox = open_runner();
  std::promise<int> finished;
  std::function<void(int)> next = [&](int left) {
    sandbox->start(program_spec({"/bin/true"}), [&, left](run_result result) {
      if (result.outcome != outcome::exited || left == 0) {
        finished.set_value(left);
      } else {
        next(left - 1);
      }
    });
  };
  next(10);
  BOOST_TEST(finished.get_future().get() == 0);
}

BOOST_AUTO_TEST_CASE(a_spec_that_cannot_be_run_is_a_named_failure) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto reason_of = [&](run_spec spec) {
    const auto result = run(*sandbox, std::move(spec));
    BOOST_TEST((result.outcome == outcome::sandbox_failed), result.reason);
    return result.reason;
  };
  BOOST_TEST(reason_of(program_spec({"/nonexistent"})) == "setup: exec /nonexistent: No such file or directory");
  BOOST_TEST(reason_of(program_spec({"relative"})) == "setup: argv[0] must be an absolute path");
  auto spec = program_spec({"/bin/true"});
  spec.readable = {{"/nonexistent/python", false}};
  BOOST_TEST(reason_of(spec) == "setup: find /nonexistent/python: No such file or directory");
  spec.readable = {{"/nonexistent/python", true}};
  BOOST_TEST((run(*sandbox, spec).outcome == outcome::exited));
  spec.readable = {{"/tmp", false}};
  BOOST_TEST(reason_of(spec).starts_with("setup: bind /tmp: would hide the run's own folder"));
  spec.readable.clear();
  spec.devices = {"/dev/nvidia-that-is-not-there"};
  BOOST_TEST(reason_of(spec).starts_with("setup: find device /dev/nvidia-that-is-not-there"));
  spec.devices = {host().canary};
  BOOST_TEST(reason_of(spec).starts_with("setup: device "));
  spec.devices.clear();
  spec.files = {{"../up", "x"}};
  BOOST_TEST(reason_of(spec) == "setup: input file with a name that cannot be one");
}

BOOST_AUTO_TEST_CASE(more_runs_than_slots_are_refused_by_name) {
  auto config = config_for_level();
  config.slots = 1;
  std::string error;
  const auto sandbox = runner::open(config, host().facts, error);
  BOOST_REQUIRE_MESSAGE(sandbox, error);
  auto first = start(*sandbox, program_spec({"/bin/sleep", "600"}));
  wait_for_processes();
  BOOST_TEST(run(*sandbox, program_spec({"/bin/true"})).reason == "setup: all 1 slots are taken");
  sandbox->cancel(first.handle);
  wait_for(first);
  BOOST_TEST((run(*sandbox, program_spec({"/bin/true"})).outcome == outcome::exited));
}

BOOST_AUTO_TEST_CASE(a_level_that_the_host_does_not_offer_is_refused_with_the_remedy) {
  auto facts = host().facts;
  facts.best = level::none;
  facts.obstacles = {"buy a newer kernel"};
  std::string error;
  auto config = config_for_level();
  config.require = level::namespaced;
  BOOST_TEST(!runner::open(config, facts, error));
  BOOST_TEST(error.starts_with("sandbox level L0 found, L3 required\n  buy a newer kernel"), error);
  config.require = level::none;  // asking for nothing is not allowing nothing
  BOOST_TEST(!runner::open(config, facts, error));
}

BOOST_AUTO_TEST_CASE(a_helper_is_spoken_to_while_it_runs) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto spec = python_spec(R"(
import sys
for line in sys.stdin:
    print("got", line.strip().upper(), flush=True)
    if line.strip() == "end":
        break
)");
  spec.limits.wall = std::chrono::milliseconds{0};
  std::promise<void> answered;
  std::promise<run_result> ended;
  std::string text;
  const auto handle = sandbox->start_interactive(
      spec,
      [&](std::string_view piece) {
        const bool was_there = text.find("GOT") != std::string::npos || text.find("got ONE") != std::string::npos;
        text.append(piece);
        if (!was_there && text.find("got ONE") != std::string::npos) {
          answered.set_value();
        }
      },
      [&](run_result result) { ended.set_value(std::move(result)); });
  sandbox->write(handle, "one\n");
  BOOST_REQUIRE(answered.get_future().wait_for(std::chrono::seconds{30}) == std::future_status::ready);
  sandbox->write(handle, std::string(300'000, 'x') + "\n");  // more than a pipe holds
  sandbox->write(handle, "end\n");
  const auto result = ended.get_future().get();
  BOOST_TEST((result.outcome == outcome::exited), result.reason);
  BOOST_TEST((result.claim == claim::none));
  BOOST_TEST(text.size() > 300'000U);
  sandbox->write(handle, "too late\n");
}

BOOST_AUTO_TEST_CASE(without_a_sandbox_the_tree_is_hunted_down_and_the_folder_removed) {
  auto facts = host().facts;
  facts.best = level::none;
  runner_config config;
  config.require = level::none;
  config.allow_unsandboxed = true;
  std::string error;
  const auto sandbox = runner::open(config, facts, error);
  BOOST_REQUIRE_MESSAGE(sandbox, error);
  BOOST_TEST((sandbox->obtained() == level::none));
  auto spec = python_spec(std::string{"import os\nopen('kept.txt', 'w').write(os.getcwd())\n"} + stubborn_family);
  spec.keep = {"kept.txt"};
  spec.limits.wall = std::chrono::seconds{1};
  const auto result = run(*sandbox, std::move(spec));
  BOOST_TEST((result.outcome == outcome::timed_out), result.reason);
  BOOST_TEST((result.level == level::none));
  BOOST_REQUIRE(result.kept.size() == 1U);
  BOOST_TEST(result.kept[0].content.starts_with("/tmp/regatta-run-"), result.kept[0].problem);
  BOOST_TEST(!std::filesystem::exists(result.kept[0].content));
  const auto tree = run(*sandbox, attack_spec("undeletable_tree"));
  BOOST_TEST((tree.outcome == outcome::exited), tree.stderr_kept);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
