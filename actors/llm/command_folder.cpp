// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/command_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace regatta {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_prefix = "regatta-command-";
/// A folder is locked as soon as it is made; a younger one may be between the two. Judgement.
constexpr std::time_t settled_after_s = 60;

std::string place() {
  const char* base = std::getenv("TMPDIR");
  return base != nullptr && *base != '\0' ? base : "/tmp";
}

/// Nobody else has it, and the folder is still there.
bool takes_lock(const owned_fd& folder) {
  struct stat facts = {};
  return ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(folder.get(), &facts) == 0 && facts.st_nlink > 0;
}

owned_fd open_folder(const std::string& path) {
  return owned_fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

/// Not another user's, which is for them to remove and may not be what it seems.
bool is_left(const owned_fd& folder) {
  struct stat facts = {};
  return folder.is_open() && ::fstat(folder.get(), &facts) == 0 && facts.st_uid == ::geteuid() &&
         std::time(nullptr) - facts.st_mtime > settled_after_s && takes_lock(folder);
}

}  // namespace

command_folder::~command_folder() {
  if (!path_.empty()) {
    // Before the lock goes: nobody else may take it for left.
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

bool command_folder::make() {
  // Whoever looks for left ones has the lock for a moment; not every time.
  constexpr int most_tries = 8;
  for (int tries = 0; tries < most_tries; ++tries) {
    auto path = place() + "/" + std::string{name_prefix} + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return false;
    }
    lock_ = open_folder(path);
    if (takes_lock(lock_)) {
      path_ = std::move(path);
      return true;
    }
    ::rmdir(path.c_str());
  }
  return false;
}

std::vector<std::string> left_command_folders() {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator at{place(), failed}, end; !failed && at != end; at.increment(failed)) {
    const auto path = at->path().string();
    if (at->path().filename().string().starts_with(name_prefix) && is_left(open_folder(path))) {
      out.push_back(path);
    }
  }
  return out;
}

void remove_left_command_folders() {
  for (const auto& path : left_command_folders()) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
}

}  // namespace regatta
