// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process_tree.hpp"

#include "sandbox/linux_api.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
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

std::uint64_t page_size() {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

/// Of memory that can be shared and is no file's: anonymous shared mappings, memory files.
std::uint64_t shared_memory_of(const std::string& pid) {
  std::istringstream lines{linux_api::read_file("/proc/" + pid + "/status")};
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view key = "RssShmem:";
    if (line.starts_with(key)) {
      constexpr std::uint64_t unit = 1024;
      return std::strtoull(line.c_str() + key.size(), nullptr, 10) * unit;
    }
  }
  return 0;
}

class memory_sum {
public:
  explicit memory_sum(std::uint64_t limit) : worth_a_look_(limit == 0 ? ~std::uint64_t{0} : limit / 8) {}

  /// False if the process is none any more, or waits to be reaped.
  bool add(const std::string& pid) {
    std::istringstream line{linux_api::read_file("/proc/" + pid + "/statm")};
    std::uint64_t size = 0, resident = 0, shared = 0;
    line >> size >> resident >> shared;
    own_ += resident > shared ? (resident - shared) * page_size() : 0;
    // Pages of files count as shared, too, and need no second read as long as they are few.
    if (shared * page_size() > worth_a_look_) {
      largest_shared_ = std::max(largest_shared_, shared_memory_of(pid));
    }
    return size > 0;
  }
  std::uint64_t bytes() const { return own_ + largest_shared_; }

private:
  const std::uint64_t worth_a_look_;
  std::uint64_t own_ = 0;
  std::uint64_t largest_shared_ = 0;
};

}  // namespace

std::uint64_t tree_memory(std::uint64_t limit) {
  memory_sum sum{limit};
  for_each_other_process([&](const std::string& pid) { sum.add(pid); });
  return sum.bytes();
}

std::uint32_t count_others_in_namespace() {
  std::uint32_t count = 0;
  for_each_other_process([&](const std::string&) { ++count; });
  return count;
}

tree_use use_of_descendants(std::uint64_t limit) {
  tree_use use;
  memory_sum sum{limit};
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
      use.processes += sum.add(pid) ? 1 : 0;
      use.tasks += tasks;
    }
  }
  use.memory = sum.bytes();
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
