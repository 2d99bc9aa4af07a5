// SPDX-License-Identifier: Apache-2.0
// A Python wherever it lies is found, bound and run; what it needs beyond its own folders is asked for by name.
#include "sandbox/child_output.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace regatta::sandbox::test {

namespace fs = std::filesystem;

namespace {

void shell(const std::string& command) {
  const auto result =
      run_program({"/bin/sh", "-c", "exec 2>&1; " + command}, {"PATH=/usr/bin:/bin"}, std::chrono::seconds{50});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, command << ": " << result.out);
}

/// Folders of this case, removed at its end.
struct places {
  std::string tmp = "/tmp/regatta-python-" + std::to_string(::getpid());
  std::string home = host().folder + "/home";
  places() {
    clean();
    fs::create_directories(tmp);
    fs::create_directories(home);
    ::setenv("HOME", home.c_str(), 1);
  }
  ~places() {
    ::setenv("HOME", host().folder.c_str(), 1);
    ::unsetenv("PYTHONPATH");
    ::unsetenv("LD_LIBRARY_PATH");
    clean();
  }
  places(const places&) = delete;
  places& operator=(const places&) = delete;
  void clean() const {
    std::error_code ignored;
    fs::remove_all(tmp, ignored);
    fs::remove_all(home, ignored);
  }
};

std::string base() {
  return host().python.executable;
}

void make_venv(const std::string& folder) {
  shell(base() + " -m venv --without-pip " + folder);
}

/// All in one folder with its own standard library, as conda and pyenv lay it out.
std::string make_tree(const std::string& folder) {
  const auto version = host().python.version.substr(0, host().python.version.rfind('.'));
  shell("mkdir -p " + folder + "/bin " + folder + "/lib && cp -L " + base() + " " + folder + "/bin/python" + version +
        " && ln -s python" + version + " " + folder + "/bin/python && cp -r " + host().python.base_prefix +
        "/lib/python" + version + " " + folder + "/lib/ && chmod -R a+rX " + folder);
  return folder + "/bin/python";
}

run_result run_with(const std::string& executable, const std::string& source,
                    const std::vector<std::string>& listed = {}) {
  std::string error;
  const auto python = inspect_interpreter(executable, listed, error);
  BOOST_REQUIRE_MESSAGE(python, error);
  auto spec = program_spec({python->executable, "-u", "candidate_main.py"});
  spec.readable = python->readable;
  spec.files.push_back({"candidate_main.py", source});
  const auto sandbox = open_runner();
  return run(*sandbox, std::move(spec));
}

void must_run(const std::string& executable, const std::string& prefix) {
  const leaves_nothing guard;
  const auto result =
      run_with(executable, "import sys, json, hashlib, ctypes, sqlite3\nprint(sys.prefix)\nprint('PASS')");
  BOOST_TEST((result.claim == claim::run_tests), result.reason << result.stderr_kept);
  BOOST_TEST(result.stdout_kept.starts_with(prefix + "\n"), result.stdout_kept);
}

/// Below a folder that is closed to others: bound past it where there is a root of its own, reached by its owner. A uid of
/// its own cannot get there on the host.
void must_run_or_be_told_closed(const std::string& executable, const std::string& prefix) {
  if (host().level != test_level::slot_uid) {
    must_run(executable, prefix);
    return;
  }
  const auto result = run_with(executable, "print('PASS')");
  BOOST_TEST((result.outcome == outcome::sandbox_failed), result.reason);
  BOOST_TEST(result.reason == "setup: exec " + executable +
                                  ", which the run's own uid must reach through every folder above it: Permission denied");
}

std::string refusal_of(const std::string& executable, const std::vector<std::string>& listed = {}) {
  std::string error;
  BOOST_TEST(!inspect_interpreter(executable, listed, error));
  return error;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(python, places)

BOOST_AUTO_TEST_CASE(the_systems_own) {
  must_run(base(), host().python.prefix);
}

BOOST_AUTO_TEST_CASE(a_venv_below_tmp) {
  make_venv(tmp + "/venv");
  must_run(tmp + "/venv/bin/python", tmp + "/venv");
}

BOOST_AUTO_TEST_CASE(a_venv_below_home) {
  make_venv(home + "/venv");
  must_run(home + "/venv/bin/python", home + "/venv");
}

BOOST_AUTO_TEST_CASE(a_venv_behind_links) {
  make_venv(home + "/real");
  fs::create_directory_symlink(home + "/real", tmp + "/absolute");
  fs::create_directory_symlink("absolute", tmp + "/relative");
  must_run(tmp + "/relative/bin/python3", tmp + "/relative");
}

BOOST_AUTO_TEST_CASE(a_link_to_the_interpreter_from_a_folder_of_links) {
  make_venv(home + "/venv");
  fs::create_directories(tmp + "/shims");
  fs::create_symlink(home + "/venv/bin/python", tmp + "/shims/python");
  const auto result = run_with(tmp + "/shims/python", "print('PASS')");
  BOOST_TEST((result.claim == claim::run_tests), result.reason << result.stderr_kept);
}

BOOST_AUTO_TEST_CASE(a_tree_of_its_own_below_a_closed_folder) {
  fs::create_directories(home + "/closed");
  ::chmod((home + "/closed").c_str(), 0700);
  const auto python = make_tree(home + "/closed/conda");
  must_run_or_be_told_closed(python, home + "/closed/conda");
}

BOOST_AUTO_TEST_CASE(a_venv_on_a_tree_below_a_closed_folder) {
  fs::create_directories(home + "/closed");
  ::chmod((home + "/closed").c_str(), 0700);
  const auto python = make_tree(home + "/closed/versions");
  shell(python + " -m venv --without-pip " + tmp + "/venv");
  must_run_or_be_told_closed(tmp + "/venv/bin/python", tmp + "/venv");
}

BOOST_AUTO_TEST_CASE(other_files_beside_the_interpreter_stay_hidden) {
  make_venv(home + "/venv");
  std::ofstream{home + "/key.txt"} << host().secret;
  const auto result = run_with(home + "/venv/bin/python", "import os\nprint(os.listdir('" + home + "'))");
  if (is_on_host()) {
    BOOST_TEST(result.stderr_kept.find("PermissionError") != std::string::npos, result.stdout_kept);
  } else {
    BOOST_TEST(result.stdout_kept == "['venv']\n", result.stderr_kept);
  }
}

BOOST_AUTO_TEST_CASE(a_pth_file_that_points_outside_is_asked_for_by_name) {
  make_venv(home + "/venv");
  fs::create_directories(home + "/src");
  std::ofstream{home + "/src/mine.py"} << "x = 'PASS'\n";
  const auto version = host().python.version.substr(0, host().python.version.rfind('.'));
  std::ofstream{home + "/venv/lib/python" + version + "/site-packages/mine.pth"} << home << "/src\n";
  const auto python = home + "/venv/bin/python";
  const auto error = refusal_of(python);
  BOOST_TEST(contains(error, home + "/src (sys.path)"), error);
  BOOST_TEST(contains(error, "--python-path"), error);
  const auto result = run_with(python, "import mine\nprint(mine.x)", {home + "/src"});
  BOOST_TEST((result.claim == claim::run_tests), result.reason << result.stderr_kept);
}

BOOST_AUTO_TEST_CASE(pythonpath_and_ld_library_path_outside_are_asked_for_by_name) {
  make_venv(home + "/venv");
  fs::create_directories(home + "/extra");
  fs::create_directories(home + "/lib");
  ::setenv("PYTHONPATH", (home + "/extra:/nonexistent:/usr/lib").c_str(), 1);
  ::setenv("LD_LIBRARY_PATH", (home + "/lib").c_str(), 1);
  const auto error = refusal_of(home + "/venv/bin/python");
  BOOST_TEST(contains(error, home + "/extra (PYTHONPATH)"), error);
  BOOST_TEST(contains(error, home + "/lib (LD_LIBRARY_PATH)"), error);
  BOOST_TEST(!contains(error, "/nonexistent"), error);
  std::string ignored;
  BOOST_TEST(inspect_interpreter(home + "/venv/bin/python", {home + "/extra", home + "/lib"}, ignored).has_value());
}

BOOST_AUTO_TEST_CASE(a_prefix_that_holds_more_than_python_is_refused) {
  make_venv(home);
  const auto error = refusal_of(home + "/bin/python");
  BOOST_TEST(contains(error, "which holds more than Python"), error);
}

BOOST_AUTO_TEST_CASE(what_is_no_python_is_told) {
  BOOST_TEST(contains(refusal_of("/nonexistent/python"), "No such file"));
  BOOST_TEST(contains(refusal_of("/bin/false"), "exit status 1"));
  BOOST_TEST(contains(refusal_of("python"), "must be absolute"));
}

BOOST_AUTO_TEST_CASE(the_one_that_the_developer_named) {
  const char* named = std::getenv("REGATTA_PYTHON");
  std::string error;
  if (named == nullptr || !inspect_interpreter(named, {}, error)) {
    leave_out_case("python", named == nullptr ? "REGATTA_PYTHON is not set"
                                              : "REGATTA_PYTHON cannot be run by this user: " + error);
    return;
  }
  const auto result = run_with(named, "import sys\nprint('PASS')");
  if (host().level == test_level::slot_uid && contains(result.reason, "must reach through every folder above it")) {
    return;  // the developer's lies below a closed home; that this is told is all that can be asked
  }
  BOOST_TEST((result.claim == claim::run_tests), result.reason << result.stderr_kept);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
