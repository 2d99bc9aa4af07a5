// SPDX-License-Identifier: Apache-2.0
// What the program does not do, and with which exit code.
#include "tests/cli/program_run.hpp"
#include "tests/cli/scratch_folder.hpp"
#include "tests/cli/toy_race.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace regatta::test {

namespace fs = std::filesystem;

BOOST_AUTO_TEST_CASE(wrong_usage_is_exit_2_one_line_and_no_state_folder) {
  const scratch_folder folder;
  const auto problem = source_path("examples/toy/moving_average.py");
  const std::vector<std::pair<texts, std::string>> cases = {
      {{"race", problem}, "no model to ask: set OPENAI_API_KEY"},
      {{"race", problem, "--workers", "0", "--replay", toy_recording()}, "--workers: got \"0\", allowed: "},
      {{"race", problem, "--accept", "proven"}, "--accept: got \"proven\", allowed: verified, claimed, both"},
      {{"race", problem, "--target-platform", "xpu"}, "--target-platform: got \"xpu\", allowed: cuda"},
      {{"race", "absent.py", "--replay", toy_recording()},
       "absent.py: cannot be read (No such file or directory), allowed: a PyTorch problem"},
      {{"race", problem, "--replay", problem}, "moving_average.py"},
      {{"race", problem, "--stage", "dream", "--replay", toy_recording()}, "dream"},
      {{"race", problem, "--config", "absent.toml"}, "absent.toml: cannot be read (No such file"},
      {{"race", problem, "--frobnicate"}, "got --frobnicate"},
      {{"race", problem, "--rounds", "0", "--replay", toy_recording()}, "--rounds: got \"0\", allowed: "},
      {{"race", problem, "--keep", "../x", "--replay", toy_recording()}, "--keep: got \"../x\", allowed: "},
      {{"race", problem, "--python-path", "/absent", "--replay", toy_recording()}, "--python-path: got \"/absent\""},
      {{"race", problem, "--base-url", "h:1", "--replay", toy_recording()}, "--base-url: got \"h:1\""},
  };
  for (const auto& [arguments, expected] : cases) {
    texts argv{regatta_program()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    program_run program{folder.path(), argv};
    const int code = program.wait();
    const auto err = program.err();
    BOOST_TEST(code == 2, err);
    BOOST_TEST(has(err, expected), err);
    BOOST_TEST(std::count(err.begin(), err.end(), '\n') == 1);
    BOOST_TEST(program.out() == "");
  }
  BOOST_TEST(!fs::exists(folder / ".regatta"));
}

BOOST_AUTO_TEST_CASE(a_problem_that_cannot_be_raced_is_refused_before_any_model_is_asked) {
  const scratch_folder folder;
  const std::string whole = "class Model: pass\ndef get_inputs(): return []\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {folder.write("prose.py", "x = 1\nPlease write me a kernel.\n"), "prose.py: line 2: "},
      {folder.write("half.py", whole), "half.py: got no get_init_inputs at its top level, allowed: a PyTorch problem"},
      {folder.write("none.py", "import torch\n"), "none.py: got no Model, no get_inputs, no get_init_inputs"},
      {folder.write("return.py", whole + "return 1\n"), "return.py: line 3: "},
      {folder.write("deep.py", std::string(100'000, '(')), "deep.py: "},
      {folder.write("empty.py", ""), "empty.py: got an empty file"},
      {folder.write("latin.py", "x = '\xE9'\n"), "not UTF-8"},
      {folder.write("nul.py", std::string{"x\0y", 3}), "a NUL at offset 1"},
      {folder.write("huge.py", std::string((1U << 20U) + 1, '#')), "more than 1048576 bytes"},
      {folder.path(), "got a folder"},
  };
  for (const auto& [problem, expected] : cases) {
    // A model that leaves a trace if it is asked.
    program_run program{folder.path(),
                        {regatta_program(), "race", problem, "--command", "touch " + (folder / "asked"), "--python",
                         "/usr/bin/python3", "--device", "cpu"}};
    const int code = program.wait();
    const auto err = program.err();
    BOOST_TEST(code == 2, problem + ": " + err);
    BOOST_TEST(has(err, expected), err);
    BOOST_TEST(has(err, "allowed: "), err);
    BOOST_TEST(program.out() == "");
  }
  BOOST_TEST(!fs::exists(folder / "asked"));
  BOOST_TEST(!fs::exists(folder / ".regatta"));
}

BOOST_AUTO_TEST_CASE(an_event_socket_that_was_asked_for_and_cannot_be_had_is_wrong_usage) {
  const scratch_folder folder;
  for (const auto* endpoint : {"ipc:///proc/x", "tcp://127.0.0.1:99999", "tcp://nonsense", "ipc:///dev/null"}) {
    program_run program{folder.path(), race({"--events", endpoint}, toy_recording())};
    BOOST_TEST(program.wait() == 2, program.err());
    BOOST_TEST(has(program.err(), "regatta: --events: "), program.err());
    BOOST_TEST(has(program.err(), endpoint), program.err());
  }
  const auto absent = folder / "absent/events";
  program_run program{folder.path(), race({"--events", "ipc://" + absent + "/e.sock"}, toy_recording())};
  BOOST_TEST(program.wait() == 2, program.err());
  BOOST_TEST(has(program.err(), "there is no folder \"" + absent + "\""), program.err());
  BOOST_TEST(!fs::exists(folder / "absent"));
}

BOOST_AUTO_TEST_CASE(a_damaged_store_is_refused_before_a_race_begins_in_it) {
  const scratch_folder folder;
  program_run race_first{folder.path(), race({"--quiet"}, toy_recording())};
  BOOST_TEST_REQUIRE(race_first.wait() == 0, race_first.err());
  const auto path = folder / ".regatta/regatta.db";
  {
    // The first page, with the header and the names of the tables, stays as it is.
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(5 * 4'096);
    file << std::string(4 * 4'096, '\xA5');
  }
  program_run program{folder.path(), race({"--quiet"}, toy_recording())};
  BOOST_TEST(program.wait() == 1, program.err());
  const auto err = program.err();
  BOOST_TEST(has(err, path + "\" is damaged or no store ("), err);
  BOOST_TEST(has(err, "move it away, or name another state folder"), err);
  BOOST_TEST(program.out() == "");
}

BOOST_AUTO_TEST_CASE(a_recording_replaces_files_only) {
  const scratch_folder folder;
  program_run race_first{folder.path(), race({"--quiet"}, toy_recording())};
  BOOST_TEST_REQUIRE(race_first.wait() == 0, race_first.err());
  fs::create_symlink("/dev/null", folder / "link");
  for (const auto& target : {folder / "link", folder.path(), folder / "no/folder/x.jsonl"}) {
    program_run program{folder.path(), {regatta_program(), "record", "latest", "-o", target}};
    BOOST_TEST(program.wait() == 2, program.err());
    BOOST_TEST(has(program.err(), "-o: got " + target), program.err());
  }
  BOOST_TEST(fs::is_symlink(folder / "link"));
  BOOST_TEST(!fs::exists(folder / "no"));
}

BOOST_AUTO_TEST_CASE(a_result_that_cannot_be_written_to_stdout_is_no_success) {
  const scratch_folder folder;
  // The race's result is on disk, its account is not told: 6. A list is nothing but what it tells: 1.
  const std::vector<std::pair<std::string, std::string>> cases = {
      {command_of(race({"--quiet"}, toy_recording())), "6\n"},
      {command_of({regatta_program(), "list"}), "1\n"},
      {command_of({regatta_program(), "show", "latest", "--json"}), "1\n"},
      {command_of({regatta_program(), "--help"}), "1\n"},
      {command_of({regatta_program(), "show", "nonsense"}), "1\n"},
      {command_of({regatta_program(), "race"}), "2\n"},
  };
  for (const auto& [command, code] : cases) {
    for (const auto* sink : {">/dev/full", ">&-"}) {
      program_run program{folder.path(), {"/bin/bash", "-c", "{ " + command + sink + "; echo $? >&3; } 3>&1"}};
      BOOST_TEST(program.wait() == 0);
      BOOST_TEST(program.out() == code, command + sink + ": " + program.out() + program.err());
      const auto err = program.err();
      // What failed anyway had nothing to say there.
      BOOST_TEST(has(err, "regatta: stdout: ") == !(code == "2\n" || has(command, "nonsense")), err);
    }
  }
  // A closed stdout was not given to the database.
  program_run list{folder.path(), {regatta_program(), "list"}};
  BOOST_TEST(list.wait() == 0, list.err());
  BOOST_TEST(has(list.out(), "run_"));
}

}  // namespace regatta::test
