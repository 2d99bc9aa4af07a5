// SPDX-License-Identifier: Apache-2.0
#include "cli/python_discovery.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace regatta::cli {

namespace fs = std::filesystem;

namespace {

std::string absolute(const std::string& path) {
  std::error_code error;
  const auto out = fs::absolute(path, error);
  return error ? path : out.lexically_normal().string();
}

std::string version_in(const fs::path& site, const std::string& name) {
  std::error_code error;
  for (fs::directory_iterator at{site, error}, end; !error && at != end; at.increment(error)) {
    const auto entry = at->path().filename().string();
    if (entry.starts_with(name + "-") && entry.ends_with(".dist-info")) {
      return entry.substr(name.size() + 1, entry.size() - name.size() - 1 - std::string{".dist-info"}.size());
    }
  }
  return "?";
}

}  // namespace

std::string find_on_path(const std::string& path_variable, const std::string& name) {
  std::size_t from = 0;
  while (from <= path_variable.size()) {
    const auto colon = std::min(path_variable.find(':', from), path_variable.size());
    const auto folder = path_variable.substr(from, colon - from);
    std::error_code ignored;
    if (!name.empty() && !folder.empty() && fs::exists(fs::path{folder} / name, ignored)) {
      return (fs::path{folder} / name).string();
    }
    from = colon + 1;
  }
  return {};
}

std::vector<python_candidate> python_candidates(const settings& values, const environment& env) {
  std::vector<python_candidate> out;
  if (values.is_set("python")) {
    const auto given = values.text("python");
    const bool is_name = given.find('/') == std::string::npos;
    const auto found = is_name ? find_on_path(value_of(env, "PATH"), given) : absolute(given);
    out.push_back({found.empty() ? given : found, values.at("python").source, true});
  }
  const auto add = [&](const std::string& root, const char* source) {
    if (!root.empty()) {
      out.push_back({absolute(root + "/bin/python"), source, false});
    }
  };
  add(value_of(env, "VIRTUAL_ENV"), "VIRTUAL_ENV");
  add(value_of(env, "CONDA_PREFIX"), "CONDA_PREFIX");
  add(".venv", "./.venv");
  const auto data = value_of(env, "XDG_DATA_HOME");
  const auto home = value_of(env, "HOME");
  if (!data.empty() || !home.empty()) {
    add((data.empty() ? home + "/.local/share" : data) + "/regatta/venv", "scripts/setup.sh");
  }
  if (const auto found = find_on_path(value_of(env, "PATH"), "python3"); !found.empty()) {
    out.push_back({absolute(found), "PATH", false});
  }
  return out;
}

std::optional<python_candidate> choose_python(const std::vector<python_candidate>& candidates,
                                              const std::function<bool(const std::string&)>& is_executable) {
  for (const auto& candidate : candidates) {
    if (candidate.is_asked_for || is_executable(candidate.path)) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::string module_version(const std::string& name, const std::vector<std::string>& prefixes,
                           const std::string& version, const std::vector<std::string>& more_folders) {
  const auto minor = version.substr(0, version.find('.', version.find('.') + 1));
  std::vector<fs::path> sites{more_folders.begin(), more_folders.end()};
  for (const fs::path prefix : prefixes) {
    sites.push_back(prefix / "lib" / ("python" + minor) / "site-packages");
    sites.push_back(prefix / "lib64" / ("python" + minor) / "site-packages");
    sites.push_back(prefix / "lib/python3/dist-packages");
    sites.push_back(prefix / "local/lib" / ("python" + minor) / "dist-packages");
  }
  std::error_code ignored;
  for (const auto& site : sites) {
    if (fs::exists(site / name / "__init__.py", ignored)) {
      return version_in(site, name);
    }
  }
  return {};
}

}  // namespace regatta::cli
