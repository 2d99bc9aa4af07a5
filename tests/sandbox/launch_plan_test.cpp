// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch_plan.hpp"

#include "sandbox/host_paths.hpp"
#include "sandbox/seccomp_policy.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

using namespace regatta;
using namespace regatta::sandbox;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(plan)

BOOST_AUTO_TEST_CASE(a_plan_survives_the_way_to_pid_1) {
  launch_plan plan;
  plan.walls.level = level::full;
  plan.walls.namespaces = plan.walls.slot_uid = plan.walls.pids_group = true;
  plan.uid = 1'900'000'007;
  plan.argv = {"/usr/bin/python3", "-u", "x.py"};
  plan.environment = {"A=1", "B="};
  plan.files = {{"x.py", std::string("a\0b", 3)}};
  plan.readable = {{"/opt/x", true}, {"/opt/y", false}};
  plan.devices = {"/dev/nvidia0"};
  plan.limits.wall = std::chrono::milliseconds{1234};
  plan.limits.pids = 7;
  plan.has_loopback = true;
  plan.walls.host_view = true;
  plan.walls.landlock_abi = 5;
  plan.filter = std::string("\0\1\2", 3);
  const auto bytes = encode(plan);
  const auto read = decode_plan(bytes);
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(encode(*read) == bytes);
  BOOST_TEST(read->files[0].content.size() == 3U);
  BOOST_TEST(read->limits.pids == 7U);
  BOOST_TEST((read->walls.pids_group && !read->walls.user_namespace && read->walls.host_view));
  BOOST_TEST(read->walls.landlock_abi == 5);
  BOOST_TEST(read->filter.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_cut_plan_is_none) {
  launch_plan plan;
  plan.argv = {"/bin/true"};
  const auto bytes = encode(plan);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    BOOST_TEST(!decode_plan(std::string_view{bytes}.substr(0, size)).has_value(), "cut to " << size);
  }
}

BOOST_AUTO_TEST_CASE(the_seccomp_program_can_be_built) {
  std::string error;
  BOOST_TEST(!build_seccomp_filter(error).empty(), error);
  const auto own_uid = build_host_filter(true, 7, error);
  BOOST_TEST(!own_uid.empty(), error);
  // With our uid more is refused; with an old Landlock, too.
  BOOST_TEST(build_host_filter(false, 7, error).size() > own_uid.size());
  BOOST_TEST(build_host_filter(true, 2, error).size() > own_uid.size());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(host_path)

struct tree {
  fs::path top = fs::temp_directory_path() / ("regatta-paths-" + std::to_string(::getpid()));
  tree() {
    fs::create_directories(top / "real/bin");
    fs::create_directory_symlink("real", top / "relative");
    fs::create_directory_symlink(top / "relative", top / "absolute");
    fs::create_symlink("loop-b", top / "loop-a");
    fs::create_symlink("loop-a", top / "loop-b");
  }
  ~tree() { fs::remove_all(top); }
};

BOOST_FIXTURE_TEST_CASE(every_link_on_the_way_is_named, tree) {
  const auto found = resolve_on_host((top / "absolute/bin").string());
  BOOST_TEST(found.error == 0);
  BOOST_TEST(found.real == (top / "real/bin").string());
  BOOST_REQUIRE(found.links.size() == 2U);
  BOOST_TEST(found.links[0].path == (top / "absolute").string());
  BOOST_TEST(found.links[1].target == "real");
}

BOOST_FIXTURE_TEST_CASE(dots_and_double_slashes_are_followed, tree) {
  const auto found = resolve_on_host(top.string() + "//real/./bin/..//bin/");
  BOOST_TEST(found.real == (top / "real/bin").string());
  BOOST_TEST(resolve_on_host("/..").real == "/");
}

BOOST_FIXTURE_TEST_CASE(loops_and_absent_files_are_errors, tree) {
  BOOST_TEST(resolve_on_host((top / "loop-a").string()).error == ELOOP);
  BOOST_TEST(resolve_on_host((top / "nothing/x").string()).error == ENOENT);
}

BOOST_AUTO_TEST_CASE(within_looks_at_whole_names) {
  BOOST_TEST(is_within("/usr/lib", "/usr"));
  BOOST_TEST(is_within("/usr", "/usr"));
  BOOST_TEST(!is_within("/usr-local", "/usr"));
  BOOST_TEST(is_within("/x", "/"));
}

BOOST_AUTO_TEST_SUITE_END()
