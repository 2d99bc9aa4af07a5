// SPDX-License-Identifier: Apache-2.0
#include "sandbox/artifacts.hpp"

#include "sandbox/linux_api.hpp"
#include "sandbox/outcome_rules.hpp"
#include "sandbox/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace regatta::sandbox {

namespace {

std::string problem_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "absent";
    case ELOOP:
      return "a link, not a regular file";
    case EXDEV:
      return "outside the run's folder";
    default:
      return std::strerror(error);
  }
}

/// Readable even if its owner, who is us at some levels, took all rights from it.
unique_fd open_regular(int folder, const std::string& name, std::string& problem) {
  const unique_fd place{linux_api::open_beneath(folder, name.c_str(), O_PATH | O_CLOEXEC)};
  struct stat info {};
  if (!place || ::fstat(place.get(), &info) != 0) {
    problem = problem_of(errno);
    return {};
  }
  if (!S_ISREG(info.st_mode)) {
    problem = "not a regular file";
    return {};
  }
  if (info.st_nlink != 1) {
    problem = "has more than one name (hard link)";
    return {};
  }
  const auto again = "/proc/self/fd/" + std::to_string(place.get());
  unique_fd file{::open(again.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (!file && errno == EACCES && ::chmod(again.c_str(), 0400) == 0) {
    file.reset(::open(again.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  if (!file) {
    problem = problem_of(errno);
  }
  return file;
}

kept_artifact copy_one(int folder, const std::string& name, byte_count most) {
  kept_artifact kept;
  kept.name = name;
  if (folder < 0) {
    kept.problem = "absent";
    return kept;
  }
  const auto file = open_regular(folder, name, kept.problem);
  if (!file) {
    return kept;
  }
  struct stat info {};
  ::fstat(file.get(), &info);
  const auto size = static_cast<byte_count>(info.st_size);
  kept.content.resize(std::min(size, most));
  std::size_t done = 0;
  while (done < kept.content.size()) {
    const auto piece =
        ::pread(file.get(), kept.content.data() + done, kept.content.size() - done, static_cast<off_t>(done));
    if (piece <= 0) {
      break;
    }
    done += static_cast<std::size_t>(piece);
  }
  kept.content.resize(done);
  if (size > most) {
    kept.problem = "over " + bytes_in_words(most) + ": cut";
  }
  return kept;
}

}  // namespace

std::vector<kept_artifact> copy_artifacts(int folder, const std::vector<std::string>& names, byte_count most) {
  std::vector<kept_artifact> kept;
  for (const auto& name : names) {
    if (kept.size() >= artifact_files) {
      kept.push_back({name, "", "over " + std::to_string(artifact_files) + " files"});
      continue;
    }
    kept.push_back(copy_one(folder, name, most));
  }
  return kept;
}

}  // namespace regatta::sandbox
