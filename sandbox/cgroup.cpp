// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.hpp"

#include "sandbox/linux_api.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sstream>

namespace regatta::sandbox {

namespace {

using linux_api::read_file;
using linux_api::write_file;

const char* const group_prefix = "regatta-";

std::uint64_t value_of(const std::string& text, const std::string& key) {
  std::istringstream in{text};
  std::string name;
  for (std::uint64_t value = 0; in >> name >> value;) {
    if (name == key) {
      return value;
    }
  }
  return 0;
}

/// In clock ticks since boot; empty if there is no such process. Together with the pid it names a process for good.
std::string start_time_of(const std::string& pid) {
  const auto text = read_file("/proc/" + pid + "/stat");
  const auto after_name = text.rfind(')');
  if (after_name == std::string::npos) {
    return {};
  }
  std::istringstream rest{text.substr(after_name + 1)};
  constexpr int fields_to_start_time = 20;
  std::string field;
  for (int i = 0; i < fields_to_start_time; ++i) {
    rest >> field;
  }
  return field;
}

std::vector<std::string> folders_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> list{::opendir(path.c_str()), ::closedir};
  while (const auto* entry = list ? ::readdir(list.get()) : nullptr) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      names.emplace_back(entry->d_name);
    }
  }
  return names;
}

/// Groups of runners that were killed together with their forker.
void remove_orphans(const std::string& place) {
  for (const auto& name : folders_in(place)) {
    std::istringstream parts{name};
    std::string prefix, pid, start;
    if (std::getline(parts, prefix, '-') && prefix + "-" == group_prefix && std::getline(parts, pid, '-') &&
        std::getline(parts, start, '-') && start_time_of(pid) != start) {
      const auto group = place + "/" + name;
      for (const auto& leaf : folders_in(group)) {
        ::rmdir((group + "/" + leaf).c_str());
      }
      ::rmdir(group.c_str());
    }
  }
}

std::string make_group(const std::string& place) {
  static std::atomic<unsigned> counter{0};
  if (place.empty()) {
    return {};
  }
  remove_orphans(place);
  const auto pid = std::to_string(::getpid());
  const auto group =
      place + "/" + group_prefix + pid + "-" + start_time_of(pid) + "-" + std::to_string(counter.fetch_add(1));
  return ::mkdir(group.c_str(), 0755) == 0 ? group : std::string{};
}

}  // namespace

std::unique_ptr<cgroup_tree> cgroup_tree::open(bool wants_limits, std::string& error) {
  std::unique_ptr<cgroup_tree> tree{new cgroup_tree};
  return tree->make_groups(find_cgroup_places(), wants_limits, error) ? std::move(tree) : nullptr;
}

bool cgroup_tree::make_groups(const cgroup_places& places, bool wants_limits, std::string& error) {
  limits_ = wants_limits;
  std::string v2_error = "no v2 hierarchy";
  if (wants_limits && !places.v2.empty()) {
    delegation_ = cgroup_delegation::take(places.v2, {}, v2_error);
  }
  v2_ = make_group(places.v2);
  v1_cpu_ = make_group(places.v1_cpu);
  if (!wants_limits) {
    return true;
  }
  if (delegation_ && !v2_.empty()) {
    if (write_file(v2_ + "/cgroup.subtree_control", "+memory")) {
      write_file(v2_ + "/cgroup.subtree_control", "+pids");
      write_file(v2_ + "/cgroup.subtree_control", "+cpu");
      return true;
    }
    v2_error = std::string{"+memory in "} + v2_ + ": " + std::strerror(errno);
  }
  delegation_.reset();
  v1_memory_ = make_group(places.v1_memory);
  v1_pids_ = make_group(places.v1_pids);
  if (v1_memory_.empty()) {
    error = "cgroup v2: " + v2_error + "; cgroup v1: no memory hierarchy that we may write";
    return false;
  }
  return true;
}

cgroup_tree::~cgroup_tree() {
  for (const auto& group : groups()) {
    remove_group(group);
  }
}

std::vector<std::string> cgroup_tree::groups() const {
  std::vector<std::string> all;
  for (const auto& group : {v2_, v1_memory_, v1_pids_, v1_cpu_}) {
    if (!group.empty()) {
      all.push_back(group);
    }
  }
  return all;
}

std::vector<std::string> cgroup_tree::duties() const {
  auto all = groups();
  if (auto duty = delegation_ ? delegation_->duty() : std::string{}; !duty.empty()) {
    all.push_back(std::move(duty));
  }
  return all;
}

bool cgroup_tree::make_leaf(std::uint64_t run, const run_limits& limits, cgroup_leaf& leaf) const {
  const auto name = "/run-" + std::to_string(run);
  const auto pids = std::to_string(limits.pids + 1);  // pid 1 is ours
  bool ok = true;
  if (!v2_.empty() && ::mkdir((v2_ + name).c_str(), 0755) == 0) {
    leaf.v2 = v2_ + name;
    leaf.v2_folder.reset(::open(leaf.v2.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    leaf.kill.reset(::open((leaf.v2 + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
    if (limits_ && v1_memory_.empty()) {
      ok = limits.memory == 0 || write_file(leaf.v2 + "/memory.max", std::to_string(limits.memory));
      write_file(leaf.v2 + "/memory.swap.max", "0");
      write_file(leaf.v2 + "/memory.oom.group", "1");
      if (limits.pids > 0) {
        write_file(leaf.v2 + "/pids.max", pids);
      }
    }
  }
  const auto add_v1 = [&](const std::string& group, const char* file, const std::string& value) {
    auto folder = group + name;
    ok = ok && ::mkdir(folder.c_str(), 0755) == 0;
    if (ok) {
      leaf.v1.push_back(folder);
      ok = value.empty() || write_file(folder + file, value);
      leaf.procs_files.emplace_back(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
      ok = ok && static_cast<bool>(leaf.procs_files.back());
    }
    return folder;
  };
  if (!v1_memory_.empty()) {
    const auto memory = limits.memory == 0 ? std::string{} : std::to_string(limits.memory);
    const auto folder = add_v1(v1_memory_, "/memory.limit_in_bytes", memory);
    write_file(folder + "/memory.memsw.limit_in_bytes", memory);  // exists only with swap accounting
  }
  if (!v1_pids_.empty()) {
    add_v1(v1_pids_, "/pids.max", limits.pids == 0 ? std::string{} : pids);
  }
  const bool has_limits = ok;
  if (!v1_cpu_.empty()) {
    add_v1(v1_cpu_, "", {});  // a share, no limit: if it cannot be had, the run goes on without
    std::erase_if(leaf.procs_files, [](const unique_fd& file) { return !file; });
  }
  return has_limits;
}

cgroup_usage cgroup_tree::usage(const cgroup_leaf& leaf) {
  cgroup_usage usage;
  auto folders = leaf.v1;
  if (!leaf.v2.empty()) {
    folders.push_back(leaf.v2);
    usage.cpu = std::chrono::microseconds{value_of(read_file(leaf.v2 + "/cpu.stat"), "usage_usec")};
  }
  for (const auto& folder : folders) {
    for (const char* file : {"/memory.events", "/memory.oom_control"}) {
      usage.has_killed = usage.has_killed || value_of(read_file(folder + file), "oom_kill") > 0;
    }
    for (const char* file : {"/memory.peak", "/memory.max_usage_in_bytes"}) {
      const auto text = read_file(folder + file);
      usage.peak =
          std::max(usage.peak, text.empty() ? 0 : static_cast<byte_count>(std::strtoull(text.c_str(), nullptr, 10)));
    }
  }
  return usage;
}

void cgroup_tree::retire(cgroup_leaf leaf) {
  if (!leaf.v2.empty()) {
    retired_.push_back(leaf.v2);
  }
  retired_.insert(retired_.end(), leaf.v1.begin(), leaf.v1.end());
  sweep();
}

bool cgroup_tree::sweep() {
  std::erase_if(retired_, [](const std::string& leaf) { return ::rmdir(leaf.c_str()) == 0 || errno == ENOENT; });
  return !retired_.empty();
}

void remove_group(const std::string& group) {
  constexpr int tries = 200;
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < tries; ++i) {
    for (const auto& leaf : folders_in(group)) {
      ::rmdir((group + "/" + leaf).c_str());
    }
    if (::rmdir(group.c_str()) == 0 || errno != EBUSY) {
      return;
    }
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace regatta::sandbox
