// SPDX-License-Identifier: Apache-2.0
#include "sandbox/readable_paths.hpp"

#include "sandbox/interpreter.hpp"
#include "sandbox/setup_error.hpp"

#include <sys/stat.h>

namespace regatta::sandbox {

namespace {

void refuse_own_places(const std::string& path) {
  for (const char* own : {"/", "/tmp", "/dev", "/dev/shm", "/run", run_folder}) {
    if (path == own) {
      throw setup_error{"bind " + path + ": would hide the run's own folder", EINVAL};
    }
  }
  if (is_within(path, "/proc") || is_within(path, run_folder)) {
    throw setup_error{"bind " + path + ": would hide the run's own folder", EINVAL};
  }
}

}  // namespace

readable_paths resolve_readable(const launch_plan& plan) {
  readable_paths all;
  const auto add = [&](const std::string& path, bool is_optional) {
    auto found = resolve_on_host(path);
    if (found.error != 0 && !is_optional) {
      throw setup_error{"find " + path, found.error};
    }
    if (found.error == 0) {
      refuse_own_places(found.real);
      all.real.insert(found.real);
      all.links.insert(all.links.end(), found.links.begin(), found.links.end());
    }
  };
  for (const auto& path : system_paths()) {
    add(path, true);
  }
  for (const auto& entry : plan.readable) {
    add(entry.path, entry.is_optional);
  }
  return all;
}

void check_devices(const launch_plan& plan) {
  for (const auto& device : plan.devices) {
    struct stat info {};
    check_step(::stat(device.c_str(), &info) == 0, "find device " + device);
    if (!S_ISCHR(info.st_mode) || !is_within(device, "/dev")) {
      throw setup_error{"device " + device, ENODEV};
    }
  }
}

}  // namespace regatta::sandbox
