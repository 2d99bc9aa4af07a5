// SPDX-License-Identifier: Apache-2.0
#include "sandbox/slot_uids.hpp"

#include "sandbox/linux_api.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <set>
#include <sstream>

namespace regatta::sandbox {

namespace {

/// Above systemd-nspawn's range (up to 1,879,048,191) and what useradd gives to /etc/subuid, below 2^31.
constexpr std::uint32_t first_uid = 1'900'000'000;
constexpr std::uint32_t blocks = 256;

std::set<std::uint32_t> blocks_in_use() {
  std::set<std::uint32_t> used;
  const auto note = [&](std::uint64_t first, std::uint64_t last) {
    constexpr std::uint64_t end = first_uid + std::uint64_t{blocks} * slot_uids::block_size;
    for (auto uid = std::max<std::uint64_t>(first, first_uid); uid <= last && uid < end; uid += slot_uids::block_size) {
      used.insert(static_cast<std::uint32_t>(uid - first_uid) / slot_uids::block_size);
    }
    if (last >= first_uid && last < end) {
      used.insert(static_cast<std::uint32_t>(last - first_uid) / slot_uids::block_size);
    }
  };
  DIR* const folder = ::opendir("/proc");
  while (const auto* entry = folder != nullptr ? ::readdir(folder) : nullptr) {
    struct stat info {};
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0 &&
        ::fstatat(::dirfd(folder), entry->d_name, &info, 0) == 0) {
      note(info.st_uid, info.st_uid);
    }
  }
  if (folder != nullptr) {
    ::closedir(folder);
  }
  std::istringstream lines{linux_api::read_file("/etc/subuid")};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line.substr(std::min(line.find(':'), line.size() - 1) + 1)};
    std::uint64_t first = 0, count = 0;
    char colon = 0;
    if (fields >> first >> colon >> count && count > 0) {
      note(first, first + count - 1);
    }
  }
  return used;
}

}  // namespace

std::unique_ptr<slot_uids> slot_uids::acquire(std::string& error) {
  const std::string folder = "/run/regatta";
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    error = "make " + folder + ": " + std::strerror(errno);
    return nullptr;
  }
  const auto used = blocks_in_use();
  for (std::uint32_t block = 0; block < blocks; ++block) {
    if (used.contains(block)) {
      continue;
    }
    const auto path = folder + "/uids." + std::to_string(block);
    unique_fd lock{::open(path.c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!lock) {
      error = "open " + path + ": " + std::strerror(errno);
      return nullptr;
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      return std::unique_ptr<slot_uids>{new slot_uids{std::move(lock), first_uid + block * block_size}};
    }
  }
  error = "all " + std::to_string(blocks) + " blocks of uids from " + std::to_string(first_uid) + " on are in use";
  return nullptr;
}

}  // namespace regatta::sandbox
