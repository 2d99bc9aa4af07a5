// SPDX-License-Identifier: Apache-2.0
#include "cli/environment.hpp"

#include "cli/text_file.hpp"
#include "messages/error.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

extern char** environ;

namespace regatta::cli {

namespace {

/// A `.env` has a few lines; more is some other file.
constexpr std::uint64_t env_file_bytes = std::uint64_t{256} * 1024;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view unquoted(std::string_view text) {
  const bool is_quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.front() == text.back();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

environment process_environment() {
  environment out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) {
      out.emplace(text.substr(0, equals), env_value{std::string{text.substr(equals + 1)}, "environment"});
    }
  }
  return out;
}

std::string value_of(const environment& env, const std::string& name) {
  const auto it = env.find(name);
  return it == env.end() ? std::string{} : it->second.value;
}

std::vector<std::pair<std::string, std::string>> parse_env_file(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.starts_with("export ")) {
      line = trimmed(line.substr(7));
    }
    const auto equals = line.find('=');
    if (line.empty() || line.front() == '#' || equals == std::string_view::npos || equals == 0) {
      continue;
    }
    out.emplace_back(trimmed(line.substr(0, equals)), unquoted(trimmed(line.substr(equals + 1))));
  }
  return out;
}

std::string why_not_private(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return {};
  }
  if ((info.st_mode & 077) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 07777));
    return std::string{"its mode is "} + mode + ", so others may read it; chmod 600 " + path + " mends that";
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return "it belongs to another user; chown it to yourself";
  }
  return {};
}

caf::expected<void> add_env_file(environment& env, const std::string& path, std::string& warning) {
  if (::access(path.c_str(), F_OK) != 0) {
    return {};
  }
  if (const auto why = why_not_private(path); !why.empty()) {
    warning = path + " is not read: " + why;
    return {};
  }
  auto text = read_text_file(path, env_file_bytes);
  if (!text) {
    return fail(ec::invalid_config, text_of(text.error()));
  }
  for (auto& [name, value] : parse_env_file(*text)) {
    env.try_emplace(name, env_value{value, path});
  }
  return {};
}

}  // namespace regatta::cli
