// SPDX-License-Identifier: Apache-2.0
#include "sandbox/interpreter.hpp"

#include "sandbox/child_output.hpp"
#include "sandbox/host_paths.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

namespace regatta::sandbox {

namespace {

constexpr std::chrono::seconds inspection_limit{10};

/// One `key NUL value NUL` pair per fact. `-I` leaves PYTHONPATH and the user's site out: the candidate gets neither.
const char* const question = R"py(
import sys, os
out = []
def say(key, value):
    out.append(key + "\0" + value + "\0")
say("version", "%d.%d.%d" % sys.version_info[:3])
say("prefix", sys.prefix)
say("base_prefix", sys.base_prefix)
for p in (sys.exec_prefix, sys.base_exec_prefix):
    say("other_prefix", p)
for p in sys.path:
    if p:
        say("path", os.path.abspath(p))
try:
    with open("/proc/self/maps") as maps:
        for name in sorted({line.split(None, 5)[5].strip() for line in maps if "/" in line}):
            if os.path.isfile(name):
                say("library", name)
except OSError:
    pass
sys.stdout.write("".join(out))
)py";

std::multimap<std::string, std::string> parse_answer(const std::string& text) {
  std::multimap<std::string, std::string> facts;
  for (std::size_t at = 0; at < text.size();) {
    const auto key_end = text.find('\0', at);
    const auto value_end = key_end == std::string::npos ? key_end : text.find('\0', key_end + 1);
    if (value_end == std::string::npos) {
      break;
    }
    facts.emplace(text.substr(at, key_end - at), text.substr(key_end + 1, value_end - key_end - 1));
    at = value_end + 1;
  }
  return facts;
}

std::string first_of(const std::multimap<std::string, std::string>& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::string{} : found->second;
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

std::vector<std::string> split_paths(const char* list) {
  std::vector<std::string> paths;
  std::istringstream in{list == nullptr ? "" : list};
  for (std::string path; std::getline(in, path, ':');) {
    if (!path.empty() && path.front() == '/' && exists(path)) {
      paths.push_back(path);
    }
  }
  return paths;
}

/// Collects what may be read, real paths beside the names that lead there.
class readable_set {
public:
  void add(const std::string& path) {
    const auto found = resolve_on_host(path);
    if (found.error != 0) {
      return;
    }
    // A link outside the system's folders counts, too, wherever it leads.
    const bool is_outside = !is_system_path(found.real);
    if (is_outside) {
      real_.insert(found.real);
    }
    if (is_outside || std::any_of(found.links.begin(), found.links.end(),
                                  [](const host_link& link) { return !is_system_path(link.path); })) {
      names_.insert(path);
    }
  }
  bool covers(const std::string& path) const {
    const auto real = resolve_on_host(path).real;
    return is_system_path(real) ||
           std::any_of(real_.begin(), real_.end(), [&](const auto& folder) { return is_within(real, folder); });
  }
  std::vector<read_only_path> list() const {
    std::vector<read_only_path> paths;
    for (const auto& name : names_) {
      paths.push_back({name, false});
    }
    return paths;
  }

private:
  std::set<std::string> real_;
  std::set<std::string> names_;
};

/// A folder that holds more than an interpreter must not be bound as if it were one.
std::string too_wide(const std::string& prefix) {
  auto real = resolve_on_host(prefix).real;
  const char* home = std::getenv("HOME");
  const auto home_real = home == nullptr ? std::string{} : resolve_on_host(home).real;
  for (const char* shared : {"/", "/home", "/root", "/tmp", "/var", "/etc", "/opt", "/srv", "/mnt", "/dev/shm"}) {
    if (real == shared) {
      return real;
    }
  }
  return !home_real.empty() && is_within(home_real, real) ? real : std::string{};
}

/// As root, candidates run as uids of their own: what only root may read is closed to them.
std::string unreadable_for_others(const std::string& prefix) {
  struct stat info {};
  const bool is_open =
      ::stat(prefix.c_str(), &info) == 0 && (info.st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH);
  return ::geteuid() == 0 && !is_open ? prefix : std::string{};
}

child_output ask(const std::string& executable) {
  std::vector<std::string> environment{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"};
  if (const char* libraries = std::getenv("LD_LIBRARY_PATH"); libraries != nullptr) {
    environment.push_back(std::string{"LD_LIBRARY_PATH="} + libraries);
  }
  return run_program({executable, "-I", "-c", question}, environment, inspection_limit);
}

bool check_prefixes(const interpreter& found, std::string& error) {
  for (const auto& prefix : {found.prefix, found.base_prefix}) {
    if (const auto wide = too_wide(prefix); !wide.empty()) {
      error = found.executable + ": its prefix is " + wide +
              ", which holds more than Python; candidates must not read that. Make a virtual environment in a "
              "folder of its own";
      return false;
    }
    if (const auto closed = unreadable_for_others(prefix); !closed.empty()) {
      error = found.executable + ": " + closed +
              " is closed to other users, and candidates run as one: chmod -R a+rX " + closed;
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<interpreter> inspect_interpreter(const std::string& executable, const std::vector<std::string>& listed,
                                               std::string& error) {
  if (executable.empty() || executable.front() != '/') {
    error = "the interpreter's path must be absolute: " + executable;
    return std::nullopt;
  }
  const auto answer = ask(executable);
  const auto facts = parse_answer(answer.out);
  interpreter found;
  found.executable = executable;
  found.version = first_of(facts, "version");
  found.prefix = first_of(facts, "prefix");
  found.base_prefix = first_of(facts, "base_prefix");
  if (!answer.has_run || answer.exit_code != 0 || found.version.empty()) {
    error = executable + " is not a Python that can be run: " +
            (answer.has_run ? "exit status " + std::to_string(answer.exit_code) : answer.problem);
    return std::nullopt;
  }
  if (!check_prefixes(found, error)) {
    return std::nullopt;
  }
  readable_set readable;
  for (const char* key : {"prefix", "base_prefix", "other_prefix"}) {
    const auto [first, last] = facts.equal_range(key);
    std::for_each(first, last, [&](const auto& fact) { readable.add(fact.second); });
  }
  for (const auto& path : listed) {
    readable.add(path);
  }
  readable.add(executable);
  const auto libraries = facts.equal_range("library");
  std::for_each(libraries.first, libraries.second, [&](const auto& fact) {
    if (!readable.covers(fact.second)) {
      readable.add(fact.second);
    }
  });
  std::map<std::string, std::string> outside;  // path → who points there
  const auto paths = facts.equal_range("path");
  std::for_each(paths.first, paths.second, [&](const auto& fact) {
    if (exists(fact.second) && !readable.covers(fact.second)) {
      outside.emplace(fact.second, "sys.path");
    }
  });
  for (const char* variable : {"PYTHONPATH", "LD_LIBRARY_PATH"}) {
    for (const auto& path : split_paths(std::getenv(variable))) {
      if (!readable.covers(path)) {
        outside.emplace(path, variable);
      }
    }
  }
  for (const auto& [path, who] : outside) {
    error +=
        (error.empty() ? executable + " needs folders that candidates may not read: " : ", ") + path + " (" + who + ")";
  }
  if (!outside.empty()) {
    error += ". List each with --python-path, or take it out";
    return std::nullopt;
  }
  found.readable = readable.list();
  return found;
}

}  // namespace regatta::sandbox
