// SPDX-License-Identifier: Apache-2.0
#include "actors/file_batch.hpp"

#include "messages/digest.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace regatta {

namespace {

class file_descriptor {
public:
  explicit file_descriptor(int raw) : raw_{raw} {}
  file_descriptor(const file_descriptor&) = delete;
  file_descriptor& operator=(const file_descriptor&) = delete;
  ~file_descriptor() {
    if (raw_ >= 0) {
      ::close(raw_);
    }
  }
  int get() const { return raw_; }

private:
  int raw_;
};

caf::error io_error(const char* what, const std::string& path) {
  const int why = errno;
  return fail(why == ENOSPC || why == EDQUOT ? ec::store_full : ec::io_failed,
              "cannot " + std::string{what} + " \"" + path + "\": " + std::strerror(why));
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

caf::error make_folders(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) {
    return {};
  }
  if (errno != ENOENT || folder.find('/', 1) == std::string::npos) {
    return io_error("make", folder);
  }
  if (auto error = make_folders(folder_of(folder))) {
    return error;
  }
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? caf::error{} : io_error("make", folder);
}

/// What of `text` was written.
std::size_t write_some(int fd, std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const auto count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

/// Hidden, and with 64 random bits: neither another writer nor a leftover of a killed one can be in its way.
std::string temporary_name(const std::string& path) {
  std::uint64_t random = 0;
  static_cast<void>(::getrandom(&random, sizeof random, 0));
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(random));
  const auto slash = path.rfind('/');
  return path.substr(0, slash + 1) + "." + path.substr(slash + 1) + "." + hex.data() + ".tmp";
}

caf::error sync_folder(const std::string& folder) {
  const file_descriptor fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return fd.get() < 0 || ::fsync(fd.get()) != 0 ? io_error("sync", folder) : caf::error{};
}

caf::error write_temporary(const std::string& path, const std::string& content, file_care care) {
  const file_descriptor fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (fd.get() < 0) {
    return io_error("create", path);
  }
  if (write_some(fd.get(), content) != content.size()) {
    return io_error("write", path);
  }
  return care == file_care::lasting && ::fsync(fd.get()) != 0 ? io_error("sync", path) : caf::error{};
}

caf::error replace_file(const std::string& path, const pending_file& file) {
  const auto temporary = temporary_name(path);
  auto error = write_temporary(temporary, file.content, file.care);
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0) {
    error = io_error("rename to", path);
  }
  if (error) {
    ::unlink(temporary.c_str());
    return error;
  }
  return file.care == file_care::lasting ? sync_folder(folder_of(path)) : caf::error{};
}

caf::error append_file(const std::string& path, pending_file& file) {
  const file_descriptor fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (fd.get() < 0) {
    return io_error("open", path);
  }
  const auto done = write_some(fd.get(), file.content);
  if (done == file.content.size()) {
    return {};
  }
  auto error = io_error("write", path);
  file.content.erase(0, done);
  return error;
}

}  // namespace

pending_file* file_batch::find(std::string_view path) {
  const auto at = index_.find(std::string{path});
  return at == index_.end() ? nullptr : &pending_[at->second];
}

void file_batch::put(std::string_view path, std::string content, file_care care) {
  assert(stays_below(path));
  if (!stays_below(path)) {
    return;
  }
  if (auto* same = find(path)) {
    same->content = std::move(content);
    same->care = care;
    return;
  }
  index_.emplace(path, pending_.size());
  pending_.push_back({std::string{path}, std::move(content), care});
}

void file_batch::append(std::string_view path, std::string_view text) {
  if (auto* same = find(path)) {
    same->content += text;
  } else {
    put(path, std::string{text}, file_care::appended);
  }
}

caf::error file_batch::write(pending_file& file) {
  const auto path = root_ + "/" + file.path;
  const auto folder = folder_of(path);
  const auto put_down = [&] {
    return file.care == file_care::appended ? append_file(path, file) : replace_file(path, file);
  };
  // Looking for its folders takes as long as writing a small file.
  if (made_.contains(folder)) {
    auto error = put_down();
    if (!error) {
      return error;
    }
    made_.erase(folder);
  }
  if (auto error = make_folders(folder)) {
    return error;
  }
  made_.insert(folder);
  return put_down();
}

caf::error file_batch::flush() {
  caf::error first;
  std::deque<pending_file> failed;
  for (auto& file : std::exchange(pending_, {})) {
    if (auto error = write(file)) {
      first = first ? first : error;
      failed.push_back(std::move(file));
    }
  }
  index_.clear();
  for (auto& file : failed) {
    index_.emplace(file.path, pending_.size());
    pending_.push_back(std::move(file));
  }
  return first;
}

std::string safe_component(std::string_view text) {
  constexpr std::size_t longest = 100;
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  std::string out{text.substr(0, longest)};
  for (auto& c : out) {
    c = allowed.find(c) == std::string_view::npos ? '_' : c;
  }
  if (out.empty() || out.front() == '.') {
    out.insert(0, "_");
  }
  return out == text ? out : out + "-" + sha256_hex(text).substr(0, 8);
}

bool stays_below(std::string_view path) {
  while (true) {
    const auto slash = path.find('/');
    const auto component = path.substr(0, slash);
    if (component.empty() || component == "." || component == ".." || component.find('\0') != std::string_view::npos) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    path.remove_prefix(slash + 1);
  }
}

}  // namespace regatta
