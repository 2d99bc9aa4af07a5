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
#include <utility>
#include <vector>

namespace regatta::sandbox {

namespace {

template <class Visit>
void for_each_number_in(const std::string& path, Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder{::opendir(path.c_str()), ::closedir};
  while (const auto* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0) {
      visit(std::string{entry->d_name});
    }
  }
}

template <class Visit>
void for_each_other_process(Visit visit) {
  const auto self = std::to_string(::getpid());
  for_each_number_in("/proc", [&](const std::string& pid) {
    if (pid != self) {
      visit(pid);
    }
  });
}

struct process_memory {
  bool is_alive = false;
  std::uint64_t own_pages = 0;  ///< Resident without shared ones.
};

process_memory memory_of(const std::string& pid) {
  std::istringstream line{linux_api::read_file("/proc/" + pid + "/statm")};
  std::uint64_t size = 0, resident = 0, shared = 0;
  line >> size >> resident >> shared;
  return {size > 0, resident > shared ? resident - shared : 0};
}

std::uint64_t page_size() {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

}  // namespace

std::uint64_t tree_memory() {
  std::uint64_t pages = 0;
  for_each_other_process([&](const std::string& pid) { pages += memory_of(pid).own_pages; });
  return pages * page_size();
}

std::uint32_t count_others_in_namespace() {
  std::uint32_t count = 0;
  for_each_other_process([&](const std::string&) { ++count; });
  return count;
}

tree_use use_of_descendants() {
  tree_use use;
  std::vector<std::string> left{std::to_string(::getpid())};
  for (bool is_self = true; !left.empty(); is_self = false) {
    const auto pid = std::move(left.back());
    left.pop_back();
    std::uint32_t tasks = 0;
    // A child is its thread's: each has a list of its own.
    for_each_number_in("/proc/" + pid + "/task", [&](const std::string& task) {
      ++tasks;
      std::istringstream children{linux_api::read_file("/proc/" + pid + "/task/" + task + "/children")};
      for (std::string child; children >> child;) {
        left.push_back(child);
      }
    });
    if (!is_self) {
      const auto memory = memory_of(pid);
      use.memory += memory.own_pages * page_size();
      use.processes += memory.is_alive ? 1 : 0;
      use.tasks += tasks;
    }
  }
  return use;
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
