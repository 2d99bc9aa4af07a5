// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup_delegation.hpp"

#include "sandbox/linux_api.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <sstream>

namespace regatta::sandbox {

namespace {

using linux_api::read_file;
using linux_api::write_file;

bool is_listed(const std::string& path, const std::string& word) {
  std::istringstream words{read_file(path)};
  for (std::string each; words >> each;) {
    if (each == word) {
      return true;
    }
  }
  return false;
}

/// Our children are gone by then, but for those that are no business of ours.
constexpr int own_patience_ms = 20;
/// Somebody who was killed is still dying.
constexpr int heirs_patience_ms = 500;

std::string control_of(const std::string& place) {
  return place + "/cgroup.subtree_control";
}

bool is_alone_in(const std::string& place) {
  const auto self = ::getpid();
  std::istringstream procs{read_file(place + "/cgroup.procs")};
  bool is_there = false;
  for (pid_t pid = 0; procs >> pid;) {
    if (pid != self) {
      return false;
    }
    is_there = true;
  }
  return is_there;
}

/// `patience_ms`: for those who are leaving the sub-group, too.
void give_back(const std::string& place, const std::vector<std::string>& controllers, bool has_moved, int patience_ms) {
  for (const auto& name : controllers) {
    write_file(control_of(place), "-" + name);  // EBUSY as long as another's groups use it
  }
  if (!has_moved || !write_file(place + "/cgroup.procs", "0")) {
    return;
  }
  const auto sub = place + "/" + supervisor_group;
  constexpr timespec pause{0, 1'000'000};
  while (::rmdir(sub.c_str()) != 0 && errno == EBUSY && patience_ms-- > 0) {
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

std::shared_ptr<cgroup_delegation> cgroup_delegation::take(const std::string& place, const controller_wish& wish,
                                                           std::string& error) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<cgroup_delegation>> all;
  const std::lock_guard lock{mutex};
  if (auto held = all[place].lock()) {
    return held;
  }
  std::shared_ptr<cgroup_delegation> made{new cgroup_delegation{place}};
  if (!made->hand_down(wish, error)) {
    return nullptr;
  }
  all[place] = made;
  return made;
}

bool cgroup_delegation::hand_down(const controller_wish& wish, std::string& error) {
  if (!is_listed(place_ + "/cgroup.controllers", wish.needed)) {
    error = "the " + wish.needed + " controller is not handed down to " + place_;
    return false;
  }
  const auto control = control_of(place_);
  const auto enable = [&](const std::string& name) {
    if (is_listed(control, name)) {
      return true;
    }
    if (write_file(control, "+" + name)) {
      handed_down_.push_back(name);
      return true;
    }
    return false;
  };
  if (!enable(wish.needed) && errno == EBUSY && is_alone_in(place_)) {
    const auto sub = place_ + "/" + supervisor_group;
    if ((::mkdir(sub.c_str(), 0755) != 0 && errno != EEXIST) || !write_file(sub + "/cgroup.procs", "0")) {
      error = "move ourselves to " + sub + ": " + std::strerror(errno);
      return false;
    }
    has_moved_ = true;
    enable(wish.needed);
  }
  if (!is_listed(control, wish.needed)) {
    error = "cannot hand the " + wish.needed + " controller down from " + place_ +
            " (other processes in it? start under: systemd-run --user --scope -p Delegate=yes …)";
    return false;
  }
  for (const auto& name : wish.useful) {
    enable(name);
  }
  if (::access(place_.c_str(), W_OK) != 0) {
    error = "we may not make groups in " + place_;
    return false;
  }
  return true;
}

cgroup_delegation::~cgroup_delegation() {
  give_back(place_, handed_down_, has_moved_, own_patience_ms);
}

std::string cgroup_delegation::duty() const {
  if (handed_down_.empty() && !has_moved_) {
    return {};
  }
  std::string text = duty_prefix;
  for (const auto& name : handed_down_) {
    text += name + ",";
  }
  return text + (has_moved_ ? "+" : "-") + place_;
}

void restore(const std::string& duty) {
  auto rest = duty.substr(std::strlen(duty_prefix));
  std::vector<std::string> controllers;
  for (auto comma = rest.find(','); comma < rest.find('/'); comma = rest.find(',')) {
    controllers.push_back(rest.substr(0, comma));
    rest.erase(0, comma + 1);
  }
  if (!rest.empty()) {
    give_back(rest.substr(1), controllers, rest.front() == '+', heirs_patience_ms);
  }
}

}  // namespace regatta::sandbox
