// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/command_folder.hpp"
#include "actors/llm/command_runner.hpp"
#include "messages/install_paths.hpp"
#include "messages/limits.hpp"
#include "tests/actors/llm/waiting_list.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

extern char** environ;  // NOLINT

using namespace regatta;
using namespace std::chrono_literals;

namespace {

std::string lifeline() {
  return program_dir() + "/regatta-lifeline";
}

struct one_runner {
  void start(const std::string& script, const std::string& input = "") {
    runner.start(1, {{"sh", "-c", script}, pass, "", input});
  }
  bool has_output(const std::string& wanted) {
    return events.wait([&](const auto& all) { return output_in(all).find(wanted) != std::string::npos; });
  }
  program_ended end(std::chrono::milliseconds timeout = 15s) {
    program_ended out;
    const bool has_ended = events.wait(
        [&](const auto& all) {
          const auto* end = all.empty() ? nullptr : std::get_if<program_ended>(&all.back());
          out = end != nullptr ? *end : out;
          return end != nullptr;
        },
        timeout);
    BOOST_TEST(has_ended, "the program has ended");
    return out;
  }
  static std::string output_in(const std::vector<program_event>& all) {
    std::string out;
    for (const auto& x : all) {
      const auto* output = std::get_if<program_output>(&x);
      out += output != nullptr ? output->bytes : "";
    }
    return out;
  }
  std::string output() const { return output_in(events.all()); }

  std::vector<std::string> pass;
  test::waiting_list<program_event> events;
  command_runner runner{[this](program_event x) { events.add(std::move(x)); }, lifeline()};
};

/// A daemon in its own session whose parents are gone, and a main program that ignores signals and stays. Prints the
/// daemon's pid and the main's.
const std::string stubborn =
    "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM HUP; echo $$; exec 1>&- 2>&-; while :; do sleep 1000; done' "
    "&) ;"
    " sleep 0.2; echo $$ end; while :; do sleep 1000; done";

std::vector<pid_t> pids_in(const std::string& output) {
  std::vector<pid_t> out;
  for (const char* at = output.c_str(); *at != '\0';) {
    char* end = nullptr;
    const auto number = std::strtol(at, &end, 10);
    if (end == at) {
      ++at;
    } else {
      out.push_back(static_cast<pid_t>(number));
      at = end;
    }
  }
  return out;
}

bool is_gone(pid_t pid, std::chrono::milliseconds within) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) {
    return true;
  }
  pollfd wait{fd, POLLIN, 0};
  const bool out = poll(&wait, 1, static_cast<int>(within.count())) == 1;
  close(fd);
  return out;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(command, one_runner)

BOOST_AUTO_TEST_CASE(a_program_reads_the_prompt_and_prints_the_reply) {
  const std::string long_input(1 * MiB, 'x');
  start("cat; echo oops >&2", long_input);
  const auto ended = end();
  BOOST_TEST((ended.how == program_end::exited));
  BOOST_TEST(ended.code == 0);
  BOOST_TEST(ended.errors == "oops\n");
  BOOST_TEST((output() == long_input));
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_read_is_no_error) {
  start("exec <&-; echo fine", std::string(1 * MiB, 'x'));
  BOOST_TEST(end().code == 0);
  BOOST_TEST(output() == "fine\n");
}

BOOST_AUTO_TEST_CASE(a_status_and_a_signal_are_told_apart) {
  start("echo why >&2; exit 3");
  BOOST_TEST((end().how == program_end::exited));
  BOOST_TEST(end().code == 3);
  BOOST_TEST(end().errors == "why\n");
  events.drop(events.all().size());
  start("kill -SEGV $$");
  BOOST_TEST((end().how == program_end::signalled));
  BOOST_TEST(end().code == SIGSEGV);
}

BOOST_AUTO_TEST_CASE(a_missing_program_is_named) {
  runner.start(1, {{"no-such-program"}, {}, "", ""});
  BOOST_TEST((end().how == program_end::not_started));
  BOOST_TEST(end().errors == "cannot start no-such-program: No such file or directory");
  events.drop(events.all().size());
  runner.start(2, {{"true"}, {}, "/no/such/folder", ""});
  BOOST_TEST((end().how == program_end::not_started));
  BOOST_TEST(end().errors.find("/no/such/folder") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_the_last_of_stderr_is_kept) {
  start("head -c 300000 /dev/zero | tr '\\0' e >&2; echo last >&2; exit 1");
  const auto ended = end();
  BOOST_TEST(ended.errors.size() == feedback_output_tail);
  BOOST_TEST(ended.errors.ends_with("last\n"));
}

BOOST_AUTO_TEST_CASE(an_endless_printer_is_killed_at_the_cap) {
  start("yes");
  BOOST_TEST((end().how == program_end::output_too_large));
  BOOST_TEST(output().size() <= reply_bytes);
}

BOOST_AUTO_TEST_CASE(only_listed_variables_are_passed) {
  setenv("REGATTA_TEST_SECRET", "hidden", 1);
  setenv("REGATTA_TEST_PASSED", "shown", 1);
  setenv("LC_TEST", "lc", 1);
  pass = {"REGATTA_TEST_PASSED"};
  start("env");
  end();
  BOOST_TEST(output().find("REGATTA_TEST_SECRET") == std::string::npos);
  BOOST_TEST(output().find("REGATTA_TEST_PASSED=shown") != std::string::npos);
  BOOST_TEST(output().find("LC_TEST=lc") != std::string::npos);
  BOOST_TEST(output().find("PATH=") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(it_runs_in_a_fresh_folder_that_goes_with_it) {
  start("pwd; touch here");
  end();
  auto folder = output();
  folder.pop_back();
  BOOST_TEST(folder.find("regatta-command-") != std::string::npos);
  BOOST_TEST(events.wait([&](const auto&) { return !std::filesystem::exists(folder); }, 100ms));
}

BOOST_AUTO_TEST_CASE(a_folder_whose_owner_was_killed_is_found_and_removed_by_the_next_runner) {
  namespace fs = std::filesystem;
  start("pwd; sleep 1000");
  BOOST_REQUIRE(has_output("\n"));
  auto used = output();
  used.pop_back();
  const auto base = fs::path{used}.parent_path();
  std::string dead = (base / "regatta-command-XXXXXX").string();
  std::string young = dead;
  BOOST_REQUIRE(mkdtemp(dead.data()) != nullptr);
  BOOST_REQUIRE(mkdtemp(young.data()) != nullptr);
  fs::create_directory(dead + "/sub");
  const auto long_ago = fs::file_time_type::clock::now() - 1h;
  for (const auto& path : {dead, used}) {
    fs::last_write_time(path, long_ago);
  }
  const auto left = left_command_folders();
  const auto is_left = [&](const std::string& x) { return std::find(left.begin(), left.end(), x) != left.end(); };
  BOOST_TEST(is_left(dead));
  BOOST_TEST(!is_left(used), "it is locked");
  BOOST_TEST(!is_left(young), "its owner may be about to lock it");
  {
    one_runner next;
    next.start("true");
    next.end();
  }
  BOOST_TEST(!fs::exists(dead));
  BOOST_TEST(fs::exists(used));
  fs::remove(young);
  runner.cancel(1);
  end();
}

BOOST_AUTO_TEST_CASE(a_cancel_kills_the_whole_tree_daemons_included) {
  start(stubborn);
  BOOST_REQUIRE(has_output("end"));
  const auto pids = pids_in(output());
  BOOST_REQUIRE(pids.size() == 2U);
  const auto begin = std::chrono::steady_clock::now();
  runner.cancel(1);
  BOOST_TEST((end().how == program_end::cancelled));
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 2s));
  for (const auto pid : pids) {
    BOOST_TEST(kill(pid, 0) == -1, "pid " << pid << " is gone when the end is told");
  }
}

BOOST_AUTO_TEST_CASE(what_a_program_leaves_behind_does_not_outlive_it) {
  start("(setsid sleep 1000 & echo $!); echo done");
  const auto ended = end();
  BOOST_TEST((ended.how == program_end::exited));
  const auto pids = pids_in(output());
  BOOST_REQUIRE(pids.size() == 1U);
  BOOST_TEST(kill(pids[0], 0) == -1);
}

BOOST_AUTO_TEST_CASE(many_programs_run_at_once) {
  for (program_id id = 1; id <= 40; ++id) {
    runner.start(id, {{"sh", "-c", "sleep 0.1; echo x"}, {}, "", ""});
  }
  BOOST_TEST(events.wait([](const auto& all) {
    return std::count_if(all.begin(), all.end(),
                         [](const auto& x) { return std::holds_alternative<program_ended>(x); }) == 40;
  }));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(command_death)

/// Another process that holds a runner of a stubborn program.
struct one_host {
  one_host() {
    BOOST_REQUIRE(pipe2(output, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    std::vector<std::string> argv{program_dir() + "/llm_command_host", lifeline(), "sh", "-c", stubborn};
    std::vector<char*> pointers;
    for (auto& x : argv) {
      pointers.push_back(x.data());
    }
    pointers.push_back(nullptr);
    BOOST_REQUIRE(posix_spawn(&pid, argv[0].c_str(), &actions, nullptr, pointers.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(output[1]);
    for (char c = 0; text.find("end") == std::string::npos && read(output[0], &c, 1) == 1;) {
      text += c;
    }
  }
  one_host(const one_host&) = delete;
  one_host& operator=(const one_host&) = delete;
  ~one_host() { close(output[0]); }
  void kill_it() const {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  int output[2];
  pid_t pid = -1;
  std::string text;
};

BOOST_AUTO_TEST_CASE(the_runners_end_kills_every_tree) {
  std::vector<pid_t> pids;
  {
    one_runner host;
    host.start(stubborn);
    BOOST_REQUIRE(host.has_output("end"));
    pids = pids_in(host.output());
  }
  BOOST_REQUIRE(pids.size() == 2U);
  for (const auto pid : pids) {
    BOOST_TEST(kill(pid, 0) == -1);
  }
}

/// Pids of regatta-lifeline between us and `program`, the lower one first.
std::vector<pid_t> lifelines_above(pid_t program) {
  std::vector<pid_t> out;
  for (auto pid = program; pid > 1 && pid != getpid();) {
    std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
    std::string line;
    std::getline(file, line);
    if (line.find("(regatta-lifelin") != std::string::npos) {
      out.push_back(pid);
    }
    const auto name_end = line.rfind(')');
    pid = name_end == std::string::npos ? 0 : static_cast<pid_t>(std::atoi(line.c_str() + name_end + 4));
  }
  return out;
}

BOOST_AUTO_TEST_CASE(whichever_part_of_the_lifeline_is_killed_nothing_of_the_tree_lives) {
  for (const std::size_t part : {0U, 1U}) {
    one_runner host;
    host.start("sleep 1000 & echo $!; " + stubborn);
    BOOST_REQUIRE(host.has_output("end"));
    const auto pids = pids_in(host.output());
    BOOST_REQUIRE(pids.size() == 3U);
    const auto lifelines = lifelines_above(pids[2]);
    BOOST_REQUIRE(lifelines.size() == 2U);
    kill(lifelines[part], SIGKILL);
    host.end();
    for (const auto pid : pids) {
      BOOST_TEST(is_gone(pid, 5s), "part " << part << ": pid " << pid << " is gone");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_lifeline_that_was_stopped_goes_on_when_our_process_is_killed) {
  one_host host;
  const auto pids = pids_in(host.text);
  BOOST_REQUIRE(pids.size() == 2U);
  for (const auto pid : lifelines_above(pids[1])) {
    kill(pid, SIGSTOP);
  }
  host.kill_it();
  for (const auto pid : pids) {
    BOOST_TEST(is_gone(pid, 5s), "pid " << pid << " is gone");
  }
}

BOOST_AUTO_TEST_CASE(a_kill_9_of_our_process_kills_every_tree) {
  one_host host;
  host.kill_it();
  const auto pids = pids_in(host.text);
  BOOST_REQUIRE(pids.size() == 2U);
  for (const auto pid : pids) {
    BOOST_TEST(is_gone(pid, 5s), "pid " << pid << " is gone");
  }
}

BOOST_AUTO_TEST_SUITE_END()
