// SPDX-License-Identifier: Apache-2.0
#include "sandbox/landlock.hpp"

#include "sandbox/interpreter.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/readable_paths.hpp"
#include "sandbox/setup_error.hpp"
#include "sandbox/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace regatta::sandbox {

namespace {

// The kernel's numbers; headers of the oldest release that we build on stop at ABI 2.
constexpr std::uint64_t execute = 1, write_data = 2, read_data = 4, read_folder = 8, remove_folder = 16,
                        remove_file = 32, make_folder = 128, make_regular = 256, make_socket = 512, make_fifo = 1024,
                        make_link = 4096, refer = 8192, truncate = 16384, ioctl_device = 32768;
constexpr std::uint64_t read_only = execute | read_data | read_folder;
constexpr std::uint64_t read_write = read_only | write_data | remove_folder | remove_file | make_folder | make_regular |
                                     make_socket | make_fifo | make_link | refer | truncate;
constexpr std::uint64_t file_rights = execute | write_data | read_data | truncate | ioctl_device;
constexpr std::uint64_t device_use = read_data | write_data | truncate | ioctl_device;
constexpr std::uint64_t tcp_bind = 1, tcp_connect = 2;           // handled from ABI 4 on
constexpr std::uint64_t scope_abstract_socket = 1, scope_signal = 2;  // from ABI 6 on

std::uint64_t handled_rights(int abi) {
  std::uint64_t rights = (1U << 13) - 1;
  if (abi >= 2) {
    rights |= refer;
  }
  if (abi >= 3) {
    rights |= truncate;
  }
  if (abi >= 5) {
    rights |= ioctl_device;
  }
  return rights;
}

void allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const unique_fd place{::open(path.c_str(), O_PATH | O_CLOEXEC)};
  struct stat info {};
  check_step(place && ::fstat(place.get(), &info) == 0, "landlock: open " + path);
  if (!S_ISDIR(info.st_mode)) {
    rights &= file_rights;
  }
  check_step(linux_api::landlock_allow(ruleset, rights, place.get()) == 0, "landlock: allow " + path);
}

class rule_set {
public:
  rule_set(int abi, bool is_on_host)
      : handled_(handled_rights(abi)),
        descriptor_(linux_api::landlock_create(handled_, is_on_host && abi >= 4 ? tcp_bind | tcp_connect : 0,
                                               is_on_host && abi >= 6 ? scope_abstract_socket | scope_signal : 0, abi)) {
    check_step(static_cast<bool>(descriptor_), "landlock: create");
  }

  void add(const std::string& path, std::uint64_t rights) const { allow(descriptor_.get(), path, rights & handled_); }
  void enforce() const { check_step(linux_api::landlock_restrict(descriptor_.get()) == 0, "landlock: restrict"); }

private:
  std::uint64_t handled_;
  unique_fd descriptor_;
};

void allow_devices(const rule_set& rules, const launch_plan& plan) {
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full"}) {
    rules.add(device, device_use);
  }
  for (const auto& device : plan.devices) {
    rules.add(device, device_use);
  }
}

/// Inside a root of our own: what is not there needs no rule.
void allow_in_own_root(const rule_set& rules, const launch_plan& plan) {
  rules.add("/", read_only);
  for (const char* folder : {run_folder, "/tmp", "/dev/shm"}) {
    rules.add(folder, read_write);
  }
  // libcuda names its threads through /proc/self/task/TID/comm (fopen "w": write and truncate) and fails cuInit with
  // 304 when it may not. A rule on /proc/self would hold for this process only, not for its children; procfs' own
  // checks guard the other processes.
  rules.add("/proc", read_only | write_data | truncate);
  allow_devices(rules, plan);
}

/// The host's own tree.
void allow_on_host(const rule_set& rules, const launch_plan& plan) {
  for (const auto& path : resolve_readable(plan).real) {
    rules.add(path, read_only);
  }
  rules.add(".", read_write);
  rules.add("/proc", read_only);
  for (const char* device : plain_devices) {
    rules.add(device, read_data);
  }
  check_devices(plan);
  allow_devices(rules, plan);
  if (!plan.devices.empty()) {
    // For libcuda, as above. The host's processes are there, too: procfs guards them from a uid of its own. With our own
    // uid (and all the more as root without capabilities, whom /proc/sys obeys) only the run's main process gets it.
    rules.add(plan.walls.slot_uid ? "/proc" : "/proc/self", read_only | write_data | truncate);
  }
}

}  // namespace

void restrict_files(const launch_plan& plan) {
  const int abi = std::min(plan.walls.landlock_abi, linux_api::landlock_abi());
  if (abi == 0) {
    return;
  }
  const rule_set rules{abi, plan.walls.host_view};
  if (plan.walls.host_view) {
    allow_on_host(rules, plan);
  } else {
    allow_in_own_root(rules, plan);
  }
  rules.enforce();
}

}  // namespace regatta::sandbox
