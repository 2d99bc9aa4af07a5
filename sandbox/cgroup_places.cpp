// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.hpp"
#include "sandbox/cgroup_delegation.hpp"
#include "sandbox/linux_api.hpp"

#include <map>
#include <sstream>

namespace regatta::sandbox {

namespace {

using linux_api::read_file;

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
  const auto suffix = std::string{"/"} + supervisor_group;
  if (places.v2.size() > suffix.size() && places.v2.ends_with(suffix)) {
    places.v2.resize(places.v2.size() - suffix.size());
  }
  return places;
}

}  // namespace regatta::sandbox
