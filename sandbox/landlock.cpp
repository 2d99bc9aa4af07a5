// SPDX-License-Identifier: Apache-2.0
#include "sandbox/landlock.hpp"

#include "sandbox/interpreter.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/setup_error.hpp"
#include "sandbox/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

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

}  // namespace

void restrict_files(const launch_plan& plan) {
  const int abi = linux_api::landlock_abi();
  if (abi == 0) {
    return;
  }
  const auto handled = handled_rights(abi);
  const unique_fd ruleset{linux_api::landlock_create(handled, 0, 0, abi)};
  check_step(static_cast<bool>(ruleset), "landlock: create");
  const auto add = [&](const std::string& path, std::uint64_t rights) { allow(ruleset.get(), path, rights & handled); };
  add("/", read_only);
  for (const char* folder : {run_folder, "/tmp", "/dev/shm"}) {
    add(folder, read_write);
  }
  // libcuda names its threads through /proc/self/task/TID/comm (fopen "w": write and truncate) and fails cuInit with
  // 304 when it may not. A rule on /proc/self would hold for this process only, not for its children; procfs' own
  // checks guard the other processes.
  add("/proc", read_only | write_data | truncate);
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full"}) {
    add(device, read_data | write_data | truncate | ioctl_device);
  }
  for (const auto& device : plan.devices) {
    add(device, read_data | write_data | truncate | ioctl_device);
  }
  check_step(linux_api::landlock_restrict(ruleset.get()) == 0, "landlock: restrict");
}

}  // namespace regatta::sandbox
