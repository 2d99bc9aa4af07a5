// SPDX-License-Identifier: Apache-2.0
#include "sandbox/scratch_folder.hpp"

#include "sandbox/interpreter.hpp"
#include "sandbox/setup_error.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace regatta::sandbox {

namespace {

/// Below this depth a folder is moved up to the top instead of being descended into: descriptors and stack stay
/// bounded whatever the depth.
constexpr int most_depth = 24;

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list{copy < 0 ? nullptr : ::fdopendir(copy), ::closedir};
  while (const auto* entry = list ? ::readdir(list.get()) : nullptr) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) {
      names.emplace_back(entry->d_name);
    }
  }
  return names;
}

class remover {
public:
  explicit remover(int top) : top_(top) {}

  void empty(int folder, int depth) {
    for (const auto& name : names_in(folder)) {
      if (::unlinkat(folder, name.c_str(), 0) == 0 || (errno != EISDIR && errno != EPERM)) {
        continue;
      }
      ::fchmodat(folder, name.c_str(), 0700, 0);
      if (depth >= most_depth) {
        ::renameat(folder, name.c_str(), top_, ("regatta-deep-" + std::to_string(moved_++)).c_str());
        continue;
      }
      const unique_fd inner{::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
      if (inner) {
        empty(inner.get(), depth + 1);
      }
      ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
    }
  }

  int moved() const { return moved_; }

private:
  int top_;
  int moved_ = 0;
};

class meter {
public:
  explicit meter(byte_count most) : most_(most) {}

  bool fits(int folder, int depth) {
    for (const auto& name : names_in(folder)) {
      struct stat info {};
      if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        continue;  // gone meanwhile
      }
      constexpr byte_count block = 512;
      bytes_ += static_cast<byte_count>(info.st_blocks) * block;
      if (bytes_ > most_ || ++files_ > most_files) {
        return false;
      }
      if (S_ISDIR(info.st_mode) && !fits_inside(folder, name, depth)) {
        return false;
      }
    }
    return true;
  }

private:
  bool fits_inside(int folder, const std::string& name, int depth) {
    if (depth >= deepest_known) {
      return false;
    }
    const unique_fd inner{::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    // Without rights to look in: nobody else's either, as a mode cannot be changed there.
    return inner ? fits(inner.get(), depth + 1) : errno != EMFILE && errno != ENFILE;
  }

  /// As many as a tmpfs of the other levels has inodes.
  static constexpr std::uint64_t most_files = 65'536;
  /// One descriptor each.
  static constexpr int deepest_known = 2'000;

  const byte_count most_;
  byte_count bytes_ = 0;
  std::uint64_t files_ = 0;
};

/// So that `meter` gets as deep as it must.
void raise_descriptor_limit() {
  constexpr rlim_t wanted = 4'096;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(limit.rlim_max, wanted);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

scratch_folder make_scratch_folder() {
  raise_descriptor_limit();
  std::string path;
  bool is_made = false;
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    path = std::string{place} + "/regatta-run-XXXXXX";
    is_made = is_made || ::mkdtemp(path.data()) != nullptr;
    if (is_made) {
      break;
    }
  }
  check_step(is_made, "make folder " + path);
  scratch_folder made{path, unique_fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)}};
  check_step(static_cast<bool>(made.descriptor), "open folder " + path);
  return made;
}

bool fits_in(const scratch_folder& folder, byte_count most) {
  return meter{most}.fits(folder.descriptor.get(), 0);
}

void remove_scratch_folder(const scratch_folder& folder) {
  remover all{folder.descriptor.get()};
  for (int before = -1; before != all.moved();) {
    before = all.moved();
    all.empty(folder.descriptor.get(), 0);
  }
  ::rmdir(folder.path.c_str());
}

void rewrite_run_folder(launch_plan& plan, const std::string& path) {
  for (auto& argument : plan.argv) {
    replace_all(argument, run_folder, path);
  }
  for (auto& variable : plan.environment) {
    replace_all(variable, run_folder, path);
  }
}

}  // namespace regatta::sandbox
