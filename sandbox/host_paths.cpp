// SPDX-License-Identifier: Apache-2.0
#include "sandbox/host_paths.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>

namespace regatta::sandbox {

namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < path.size();) {
    const auto to = std::min(path.find('/', from), path.size());
    if (to > from) {
      parts.push_back(path.substr(from, to - from));
    }
    from = to + 1;
  }
  return parts;
}

std::string link_target(const std::string& path) {
  char text[PATH_MAX];
  const auto size = ::readlink(path.c_str(), text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string{};
}

}  // namespace

resolved_path resolve_on_host(const std::string& path) {
  constexpr std::size_t most_links = 40;  // the kernel's own limit
  resolved_path result;
  auto first = parts_of(path);
  std::deque<std::string> left{first.begin(), first.end()};
  while (!left.empty()) {
    const auto part = left.front();
    left.pop_front();
    if (part == ".") {
      continue;
    }
    if (part == "..") {
      result.real.erase(std::min(result.real.rfind('/'), result.real.size()));
      continue;
    }
    auto next = result.real;
    next += '/';
    next += part;
    struct stat info {};
    if (::lstat(next.c_str(), &info) != 0) {
      result.error = errno;
      result.real = next;
      return result;
    }
    if (!S_ISLNK(info.st_mode)) {
      result.real = next;
      continue;
    }
    const auto target = link_target(next);
    if (target.empty() || result.links.size() >= most_links) {
      result.error = ELOOP;
      return result;
    }
    result.links.push_back({next, target});
    const auto inserted = parts_of(target);
    left.insert(left.begin(), inserted.begin(), inserted.end());
    if (target.front() == '/') {
      result.real.clear();
    }
  }
  if (result.real.empty()) {
    result.real.push_back('/');
  }
  return result;
}

bool is_within(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder ||
         (path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 && path[folder.size()] == '/');
}

const std::vector<std::string>& system_paths() {
  // No /opt, /srv or /var: what lies there is the site's, so it is listed by whoever needs it.
  static const std::vector<std::string> paths{"/usr",
                                              "/bin",
                                              "/sbin",
                                              "/lib",
                                              "/lib32",
                                              "/lib64",
                                              "/libx32",
                                              "/etc/ld.so.cache",
                                              "/etc/ld.so.conf",
                                              "/etc/ld.so.conf.d",
                                              "/etc/alternatives",
                                              "/etc/localtime",
                                              "/etc/nsswitch.conf",
                                              "/etc/ssl/certs"};
  return paths;
}

bool is_system_path(const std::string& path) {
  return std::any_of(system_paths().begin(), system_paths().end(),
                     [&](const std::string& folder) { return is_within(path, folder); });
}

}  // namespace regatta::sandbox
