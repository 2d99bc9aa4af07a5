// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.hpp"
#include "sandbox/linux_api.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>

namespace regatta::sandbox {

namespace {

using linux_api::read_file;
using linux_api::write_file;

/// Where we move ourselves to, so that our own cgroup may have children with controllers.
const std::string own_subgroup = "regatta-supervisor";

struct hierarchy {
  std::string mount_point;
  std::string root;  ///< Which part of the hierarchy is mounted there.
};

bool has_word(const std::string& text, const std::string& word, char separator) {
  std::istringstream in{text};
  for (std::string part; std::getline(in, part, separator);) {
    if (part == word || part == word + "\n") {
      return true;
    }
  }
  return false;
}

/// By controller; "" is v2.
std::map<std::string, hierarchy> mounted_hierarchies() {
  std::map<std::string, hierarchy> found;
  std::istringstream lines{read_file("/proc/self/mountinfo")};
  for (std::string line; std::getline(lines, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) {
      continue;
    }
    std::istringstream front{line}, back{line.substr(dash + 3)};
    std::string id, parent, device, type, source, options;
    hierarchy place;
    front >> id >> parent >> device >> place.root >> place.mount_point;
    back >> type >> source >> options;
    if (type == "cgroup2") {
      found.emplace("", place);
    } else if (type == "cgroup") {
      for (const char* controller : {"memory", "pids", "cpu"}) {
        if (has_word(options, controller, ',')) {
          found.emplace(controller, place);
        }
      }
    }
  }
  return found;
}

std::string place_in(const hierarchy& where, std::string path) {
  // In a container the path counts from the host's root, the mount from the container's.
  if (where.root != "/" && path.compare(0, where.root.size(), where.root) == 0) {
    path.erase(0, where.root.size());
  }
  return where.mount_point + (path == "/" ? "" : path);
}

bool is_alone_in(const std::string& place) {
  const auto self = ::getpid();
  std::istringstream procs{read_file(place + "/cgroup.procs")};
  bool found = false;
  for (pid_t pid = 0; procs >> pid;) {
    if (pid != self) {
      return false;
    }
    found = true;
  }
  return found;
}

}  // namespace

cgroup_places find_cgroup_places() {
  const auto mounted = mounted_hierarchies();
  cgroup_places places;
  std::istringstream lines{read_file("/proc/self/cgroup")};
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto path = line.substr(second + 1);
    const auto set = [&](const std::string& controller, std::string& place) {
      if (const auto where = mounted.find(controller); where != mounted.end()) {
        place = place_in(where->second, path);
      }
    };
    if (controllers.empty()) {
      set("", places.v2);
    }
    if (has_word(controllers, "memory", ',')) {
      set("memory", places.v1_memory);
    }
    if (has_word(controllers, "pids", ',')) {
      set("pids", places.v1_pids);
    }
    if (has_word(controllers, "cpu", ',')) {
      set("cpu", places.v1_cpu);
    }
  }
  // Moved there by an earlier call: groups belong beside it.
  const auto suffix = "/" + own_subgroup;
  if (places.v2.size() > suffix.size() && places.v2.ends_with(suffix)) {
    places.v2.resize(places.v2.size() - suffix.size());
  }
  return places;
}

bool enable_v2_controllers(std::string& place, std::string& error) {
  if (!has_word(read_file(place + "/cgroup.controllers"), "memory", ' ')) {
    error = "the memory controller is not handed down to " + place;
    return false;
  }
  const auto control = place + "/cgroup.subtree_control";
  if (has_word(read_file(control), "memory", ' ')) {
    return ::access(place.c_str(), W_OK) == 0;
  }
  if (!write_file(control, "+memory") && errno == EBUSY && is_alone_in(place)) {
    // A cgroup with processes in it may not hand controllers down. We move ourselves, never anybody else.
    const auto sub = place + "/" + own_subgroup;
    if ((::mkdir(sub.c_str(), 0755) != 0 && errno != EEXIST) || !write_file(sub + "/cgroup.procs", "0")) {
      error = "move ourselves to " + sub + ": " + std::strerror(errno);
      return false;
    }
    write_file(control, "+memory");
  }
  if (!has_word(read_file(control), "memory", ' ')) {
    error = "cannot hand the memory controller down from " + place +
            " (other processes in it? start under: systemd-run --user --scope -p Delegate=yes …)";
    return false;
  }
  write_file(control, "+pids");
  write_file(control, "+cpu");
  return true;
}

}  // namespace regatta::sandbox
