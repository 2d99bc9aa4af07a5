// SPDX-License-Identifier: Apache-2.0
// What is copied out of a run's folder, and what a candidate may not pass off as a file.
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <future>
#include <memory>

namespace regatta::sandbox::test {

namespace {

kept_artifact keep_one(const std::string& source, const std::string& name) {
  auto spec = python_spec("import os\n" + source);
  spec.keep = {name};
  const auto sandbox = open_runner();
  auto result = run(*sandbox, std::move(spec));
  BOOST_TEST((result.outcome == outcome::exited), result.stderr_kept);
  BOOST_REQUIRE(result.kept.size() == 1U);
  BOOST_TEST(result.kept[0].name == name);
  return result.kept[0];
}

void must_be_refused(const std::string& source, const std::string& name, const std::string& problem) {
  const leaves_nothing guard;
  const auto kept = keep_one(source, name);
  BOOST_TEST(kept.content.empty());
  BOOST_TEST(kept.problem == problem);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(artifact)

BOOST_AUTO_TEST_CASE(a_file_in_a_folder_is_copied_byte_by_byte) {
  const auto kept = keep_one("os.mkdir('out')\nopen('out/k.ptx', 'wb').write(bytes(range(256)) * 4)", "out/k.ptx");
  BOOST_TEST(kept.problem == "");
  BOOST_TEST(kept.content.size() == 1024U);
  BOOST_TEST(kept.content[255] == '\xFF');
}

BOOST_AUTO_TEST_CASE(files_of_a_run_that_was_killed_are_copied_too) {
  auto spec = python_spec("open('log', 'w').write('so far')\nwhile True: pass");
  spec.keep = {"log"};
  spec.limits.wall = std::chrono::seconds{1};
  const auto sandbox = open_runner();
  const auto result = run(*sandbox, std::move(spec));
  BOOST_TEST(result.kept.at(0).content == "so far");
}

BOOST_AUTO_TEST_CASE(an_absent_file_is_said_to_be_absent) {
  must_be_refused("pass", "nothing/here", "absent");
}

BOOST_AUTO_TEST_CASE(a_link_is_refused) {
  must_be_refused("os.symlink('/etc/passwd', 'x')", "x", "a link, not a regular file");
}

BOOST_AUTO_TEST_CASE(a_folder_swapped_for_a_link_is_refused) {
  must_be_refused("os.symlink('/etc', 'd')", "d/passwd", "a link, not a regular file");
}

BOOST_AUTO_TEST_CASE(a_magic_link_is_refused) {
  must_be_refused("os.symlink('/proc/self/root/etc', 'd')", "d/passwd", "a link, not a regular file");
}

BOOST_AUTO_TEST_CASE(a_way_up_is_refused) {
  must_be_refused("pass", "../../etc/passwd", "outside the run's folder");
}

BOOST_AUTO_TEST_CASE(an_absolute_path_is_refused) {
  must_be_refused("pass", "/etc/passwd", "outside the run's folder");
}

BOOST_AUTO_TEST_CASE(a_fifo_does_not_block) {
  must_be_refused("os.mkfifo('f')", "f", "not a regular file");
}

BOOST_AUTO_TEST_CASE(a_folder_is_no_file) {
  must_be_refused("os.mkdir('f')", "f", "not a regular file");
}

BOOST_AUTO_TEST_CASE(a_second_name_of_a_file_is_refused) {
  must_be_refused("open('a', 'w').write('x')\nos.link('a', 'b')", "b", "has more than one name (hard link)");
}

BOOST_AUTO_TEST_CASE(a_file_without_rights_is_copied) {
  const auto kept = keep_one("os.write(os.open('a', os.O_CREAT | os.O_WRONLY, 0), b'mine')", "a");
  BOOST_TEST(kept.content == "mine", kept.problem);
}

BOOST_AUTO_TEST_CASE(forty_megabytes_are_cut_at_the_limit_and_said_to_be) {
  const auto kept = keep_one("open('a', 'wb').write(b'x' * (40 << 20))", "a");
  BOOST_TEST(kept.content.size() == artifact_file_bytes);
  BOOST_TEST(kept.problem == "over 16 MiB: cut");
}

BOOST_AUTO_TEST_CASE(more_names_than_allowed_are_named) {
  auto spec = program_spec({"/bin/true"});
  spec.keep.assign(artifact_files + 1, "x");
  const auto sandbox = open_runner();
  const auto result = run(*sandbox, std::move(spec));
  BOOST_TEST(result.kept.back().problem == "over 64 files");
}

BOOST_AUTO_TEST_CASE(input_files_lie_there_read_only_and_a_second_of_the_same_name_is_a_failure) {
  const leaves_nothing guard;
  const auto before = ::umask(0077);  // as programs have it that keep records
  auto spec =
      python_spec("import stat, os\nprint(oct(stat.S_IMODE(os.stat('data.bin').st_mode)), open('data.bin').read())");
  spec.files.push_back({"data.bin", "content"});
  const auto sandbox = open_runner();
  BOOST_TEST(run(*sandbox, spec).stdout_kept == "0o444 content\n");
  spec.files.push_back({"data.bin", "other"});
  BOOST_TEST(run(*sandbox, spec).reason == "setup: create data.bin: File exists");
  ::umask(before);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(build_folder)

// Kind D71: a lock file of a killed build holds up the next one (GPTQModel #3015).
BOOST_AUTO_TEST_CASE(a_lock_that_a_killed_build_left_is_not_seen_by_the_next_run) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  auto spec = python_spec(R"(
import os, sys, time
folder = os.environ["TORCH_EXTENSIONS_DIR"]
os.makedirs(folder, exist_ok=True)
if os.path.exists(folder + "/lock"):
    print("waiting for ever")
    time.sleep(600)
open(folder + "/lock", "w").close()
print("built", flush=True)
if "hang" in os.environ:
    time.sleep(600)
)");
  auto hanging = spec;
  hanging.environment["hang"] = "1";
  hanging.limits.wall = std::chrono::seconds{1};
  BOOST_TEST((run(*sandbox, hanging).outcome == outcome::timed_out));
  BOOST_TEST(run(*sandbox, spec).stdout_kept == "built\n");
}

// Kind D73: one compiler cache for all (triton #11512).
BOOST_AUTO_TEST_CASE(eight_runs_that_compile_the_same_key_do_not_meet) {
  const auto sandbox = open_runner();
  std::vector<std::shared_ptr<std::promise<run_result>>> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(std::make_shared<std::promise<run_result>>());
    sandbox->start(python_spec(R"(
import os
folder = os.environ["TRITON_CACHE_DIR"] + "/same-key"
os.makedirs(folder)  # raises if anybody was here before
with open(folder + "/kernel.tmp", "w") as file:
    file.write("x")
os.rename(folder + "/kernel.tmp", folder + "/kernel")
print(sorted(os.listdir(folder)))
)"),
                   [promise = all.back()](run_result result) { promise->set_value(std::move(result)); });
  }
  for (auto& promise : all) {
    BOOST_TEST(promise->get_future().get().stdout_kept == "['kernel']\n");
  }
}

BOOST_AUTO_TEST_CASE(home_temp_and_caches_are_private_and_usable) {
  const auto sandbox = open_runner();
  const auto result = run(*sandbox, python_spec(R"(
import os, tempfile
for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR"):
    os.makedirs(os.environ[name], exist_ok=True)
    open(os.environ[name] + "/probe", "w").close()
with tempfile.NamedTemporaryFile() as file:
    print(file.name.startswith(os.getcwd() + "/.tmp/"))
print(os.path.expanduser("~") == os.environ["HOME"] == os.getcwd() + "/.home", os.getcwd())
)"));
  const std::string folder = is_on_host() ? "/tmp/regatta-run-" : "/run/job\n";
  BOOST_TEST(result.stdout_kept.starts_with("True\nTrue " + folder), result.stdout_kept << result.stderr_kept);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
