// SPDX-License-Identifier: Apache-2.0
// regatta-sandbox from a shell.
#include "sandbox/child_output.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace regatta::sandbox::test {

namespace {

child_output program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string{std::getenv("REGATTA_BIN_DIR")} + "/regatta-sandbox");
  // stderr, too: errors go there.
  std::vector<std::string> argv{"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_program(argv, {"PATH=/usr/bin:/bin", "API_KEY=" + host().secret}, std::chrono::seconds{50});
}

std::vector<std::string> run_at_level(std::vector<std::string> more) {
  std::vector<std::string> all{"run", "--level", to_string(config_for_level().at_most), "--require-level"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct candidate_file {
  std::string path = host().folder + "/candidate.py";
  explicit candidate_file(const std::string& source) { std::ofstream{path} << source; }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(program_from_a_shell)

BOOST_AUTO_TEST_CASE(a_passing_candidate_is_exit_status_0) {
  const candidate_file file{"print('\\x1b[31m PASS\\x1b[0m')"};
  const auto result = program(run_at_level({"--python", host().python.executable, file.path}));
  BOOST_TEST(result.exit_code == 0);
  BOOST_TEST(contains(result.out, "exited, run_tests claim: exit status 0"), result.out);
  BOOST_TEST(!contains(result.out, "\x1b"), "control characters reached the terminal");
}

BOOST_AUTO_TEST_CASE(json_is_one_object_with_all_that_was_seen) {
  const candidate_file file{"open('k.ptx', 'w').write('ptx')\nprint('\"quoted\" \\xff')\nraise SystemExit(3)"};
  const auto folder = host().folder + "/kept";
  std::filesystem::create_directories(folder);
  const auto result =
      program(run_at_level({"--python", host().python.executable, "--json", "--keep", "k.ptx", "--keep-to", folder,
                            "--env", "X=1", "--limit-wall", "10s", "--memory", "1G", file.path}));
  BOOST_TEST(result.exit_code == 1);
  for (const char* part :
       {"\"outcome\":\"exited_nonzero\"", "\"claim\":\"none\"", "\"exit_code\":3", "\"reason\":\"exit status 3\"",
        "\\\"quoted\\\"", "\"kept\":[{\"name\":\"k.ptx\",\"bytes\":3"}) {
    BOOST_TEST(contains(result.out, part), result.out);
  }
  std::ifstream kept{folder + "/k.ptx"};
  std::string content;
  kept >> content;
  BOOST_TEST(content == "ptx");
}

BOOST_AUTO_TEST_CASE(any_program_can_follow_two_dashes) {
  const auto result = program(run_at_level({"--", "/bin/sh", "-c", "echo $0 $1; env", "--json", "-x"}));
  BOOST_TEST(result.exit_code == 0);
  BOOST_TEST(result.out.starts_with("--json -x\n"), result.out);
  BOOST_TEST(!contains(result.out, host().secret));
}

BOOST_AUTO_TEST_CASE(wrong_usage_is_one_line_and_exit_status_2) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{},
                                                                     {"--nonsense"},
                                                                     {"run"},
                                                                     {"run", "--limit-wall", "soon", "x.py"},
                                                                     {"run", "--memory", "-1", "x.py"},
                                                                     {"run", "--level", "L9", "x.py"},
                                                                     {"run", "--env", "novalue", "--", "/bin/true"},
                                                                     {"run", "/nonexistent.py"},
                                                                     {"run", "--", "true"},
                                                                     {"probe", "--what"}}) {
    const auto result = program(arguments);
    BOOST_TEST(result.exit_code == 2, result.out);
    BOOST_TEST(std::count(result.out.begin(), result.out.end(), '\n') == 1, result.out);
    BOOST_TEST(result.out.starts_with("regatta-sandbox: "), result.out);
  }
}

BOOST_AUTO_TEST_CASE(a_sandbox_that_fails_is_exit_status_9) {
  const auto result = program(run_at_level({"--", "/nonexistent"}));
  BOOST_TEST(result.exit_code == 9);
  BOOST_TEST(contains(result.out, "setup: exec /nonexistent: No such file or directory"), result.out);
}

BOOST_AUTO_TEST_CASE(the_probe_tells_the_level_for_people_and_machines) {
  const auto text = program({"probe"});
  BOOST_TEST(text.exit_code == 0);
  BOOST_TEST(text.out.starts_with("sandbox level L"), text.out);
  const auto json = program({"probe", "--json"});
  BOOST_TEST(json.out.starts_with("{\"schema_version\":1,\"level\":\"L"), json.out);
}

BOOST_AUTO_TEST_CASE(sigterm_cancels_the_run) {
  const leaves_nothing guard;
  const auto path = std::string{std::getenv("REGATTA_BIN_DIR")} + "/regatta-sandbox";
  std::string level = to_string(config_for_level().at_most);
  // The mark lets us see from outside that the candidate is there.
  const auto mark = "REGATTA_TEST_MARK=" + std::to_string(::getpid());
  const char* argv[] = {path.c_str(), "run", "--level",    level.c_str(), "--env",
                        mark.c_str(), "--",  "/bin/sleep", "600",         nullptr};
  pid_t pid = -1;
  BOOST_REQUIRE(::posix_spawn(&pid, path.c_str(), nullptr, nullptr, const_cast<char**>(argv), environ) == 0);
  wait_for_processes(1);
  ::kill(pid, SIGTERM);
  int status = 0;
  BOOST_REQUIRE(::waitpid(pid, &status, 0) == pid);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
