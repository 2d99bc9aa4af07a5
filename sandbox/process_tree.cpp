// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process_tree.hpp"

#include "sandbox/linux_api.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <sstream>
#include <string>

namespace regatta::sandbox {

namespace {

template <class Visit>
void for_each_other_process(Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder{::opendir("/proc"), ::closedir};
  const auto self = std::to_string(::getpid());
  while (const auto* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0 && self != entry->d_name) {
      visit(std::string{entry->d_name});
    }
  }
}

}  // namespace

std::uint64_t tree_memory() {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t pages = 0;
  for_each_other_process([&](const std::string& pid) {
    std::istringstream line{linux_api::read_file("/proc/" + pid + "/statm")};
    std::uint64_t size = 0, resident = 0, shared = 0;
    if (line >> size >> resident >> shared && resident > shared) {
      pages += resident - shared;
    }
  });
  return pages * page;
}

std::uint32_t count_others_in_namespace() {
  std::uint32_t count = 0;
  for_each_other_process([&](const std::string&) { ++count; });
  return count;
}

void hunt_descendants() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  const auto self = std::to_string(::getpid());
  // No limit on the rounds: on a busy machine a killed parent can take long to die, and only then are its children
  // ours.
  for (;;) {
    std::istringstream children{linux_api::read_file("/proc/self/task/" + self + "/children")};
    for (pid_t pid = 0; children >> pid;) {
      ::kill(pid, SIGKILL);
    }
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) {
      return;
    }
    const timespec pause{0, 500'000};
    ::sigtimedwait(&child, nullptr, &pause);
  }
}

}  // namespace regatta::sandbox
