// SPDX-License-Identifier: Apache-2.0
// The delegation of cgroup v2's controllers, with whichever controller this host's v2 hierarchy has: the steps are the
// same for all of them.
#include "sandbox/cgroup_delegation.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/unique_fd.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <sstream>
#include <string>

namespace regatta::sandbox::test {

namespace {

using linux_api::read_file;
using linux_api::write_file;

std::string mount_point() {
  std::istringstream lines{read_file("/proc/self/mountinfo")};
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" - cgroup2 ") != std::string::npos) {
      std::istringstream fields{line};
      std::string skipped, path;
      fields >> skipped >> skipped >> skipped >> skipped >> path;
      return path;
    }
  }
  return {};
}

/// A group of ours with one controller in it, as a manager would hand it to us.
class handed_group {
public:
  handed_group() {
    const auto top = mount_point();
    // Not those that others on this host may be using.
    for (const char* name : {"hugetlb", "rdma", "misc", "pids", "memory"}) {
      std::istringstream words{read_file(top + "/cgroup.controllers")};
      for (std::string word; controller.empty() && words >> word;) {
        controller = word == name ? word : "";
      }
    }
    const bool was_on = (" " + read_file(top + "/cgroup.subtree_control")).find(" " + controller) != std::string::npos;
    if (controller.empty() || (!was_on && !write_file(top + "/cgroup.subtree_control", "+" + controller))) {
      return;
    }
    undo_ = was_on ? std::string{} : top + "/cgroup.subtree_control";
    path = top + "/regatta-handed-" + std::to_string(::getpid());
    is_there = ::mkdir(path.c_str(), 0755) == 0;
  }
  ~handed_group() {
    ::rmdir((path + "/" + supervisor_group).c_str());
    ::rmdir(path.c_str());
    if (!undo_.empty()) {
      write_file(undo_, "-" + controller);
    }
  }
  handed_group(const handed_group&) = delete;
  handed_group& operator=(const handed_group&) = delete;

  controller_wish wish() const { return {controller, {"no_such_controller"}}; }
  bool hands_down() const { return read_file(path + "/cgroup.subtree_control").starts_with(controller); }
  bool has(const char* sub) const { return ::access((path + "/" + sub).c_str(), F_OK) == 0; }

  std::string path;
  std::string controller;
  bool is_there = false;

private:
  std::string undo_;
};

bool is_in(const std::string& group) {
  return read_file("/proc/self/cgroup").find("0::/" + group.substr(group.rfind('/') + 1)) != std::string::npos ||
         read_file("/proc/self/cgroup").find(group.substr(mount_point().size()) + "\n") != std::string::npos;
}

/// Steps of a child that sits in the group; each must be true.
int first_failure(const handed_group& group, const std::function<int()>& steps) {
  const auto pid = ::fork();
  if (pid == 0) {
    ::_exit(write_file(group.path + "/cgroup.procs", "0") ? steps() : 99);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

bool is_left_out(const handed_group& group) {
  if (!group.is_there) {
    leave_out_case("cgroup2", "no cgroup v2 hierarchy with a controller that we may hand down");
  }
  return !group.is_there;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delegation)

BOOST_AUTO_TEST_CASE(we_step_aside_hand_the_controller_down_and_step_back) {
  const handed_group group;
  if (is_left_out(group)) {
    return;
  }
  BOOST_TEST(first_failure(group, [&] {
    std::string error;
    auto held = cgroup_delegation::take(group.path, group.wish(), error);
    if (!held || !group.hands_down() || !is_in(group.path + "/" + supervisor_group)) {
      return 1;
    }
    const auto job = group.path + "/job";
    const bool is_made = ::mkdir(job.c_str(), 0755) == 0;
    const unique_fd folder{::open(job.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    int pidfd = -1;
    bool has_joined = false;
    const auto pid = linux_api::clone_process(0, folder.get(), pidfd, has_joined);
    if (pid == 0) {
      ::_exit(0);
    }
    ::waitpid(pid, nullptr, 0);
    if (!is_made || pid < 0 || !has_joined) {
      return 2;
    }
    if (cgroup_delegation::take(group.path, group.wish(), error) != held) {
      return 3;
    }
    ::rmdir(job.c_str());
    held.reset();
    return group.hands_down() || group.has(supervisor_group) || !is_in(group.path) ? 4 : 0;
  }) == 0);
}

BOOST_AUTO_TEST_CASE(with_others_in_our_group_nobody_is_moved) {
  const handed_group group;
  if (is_left_out(group)) {
    return;
  }
  BOOST_TEST(first_failure(group, [&] {
    const auto other = ::fork();
    if (other == 0) {
      ::pause();
      ::_exit(0);
    }
    std::string error;
    const bool is_refused = !cgroup_delegation::take(group.path, group.wish(), error) && is_in(group.path) &&
                            !group.has(supervisor_group) && error.find("Delegate=yes") != std::string::npos;
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    return is_refused ? 0 : 1;
  }) == 0);
}

BOOST_AUTO_TEST_CASE(a_controller_that_was_not_handed_to_us_is_named) {
  const handed_group group;
  if (is_left_out(group)) {
    return;
  }
  std::string error;
  BOOST_TEST(!cgroup_delegation::take(group.path, {"no_such_controller", {}}, error));
  BOOST_TEST(error == "the no_such_controller controller is not handed down to " + group.path);
}

BOOST_AUTO_TEST_CASE(a_child_gives_back_for_a_parent_that_was_killed) {
  const handed_group group;
  if (is_left_out(group)) {
    return;
  }
  BOOST_TEST(first_failure(group, [&] {
    std::string error;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return 1;
    }
    // The group's only process must be the one that takes it.
    const auto held = cgroup_delegation::take(group.path, group.wish(), error);
    if (!held || held->duty().empty()) {
      return 2;
    }
    const auto heir = ::fork();
    if (heir == 0) {
      ::close(ends[1]);
      char byte = 0;
      [[maybe_unused]] const auto ended = ::read(ends[0], &byte, 1);  // until the parent is dead
      restore(held->duty());
      ::_exit(0);
    }
    ::_exit(0);  // without destructors: as killed
  }) == 0);
  for (int i = 0; i < 500 && (group.hands_down() || group.has(supervisor_group)); ++i) {
    ::usleep(10'000);  // nobody tells when the heir is done
  }
  BOOST_TEST(!group.hands_down());
  BOOST_TEST(!group.has(supervisor_group));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
