// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/provider_check.hpp"

#include "messages/limits.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace regatta {

namespace {

caf::error wrong(const provider_config& provider, const std::string& key, const std::string& got,
                 const std::string& allowed) {
  return fail(ec::invalid_config, "providers." + provider.name + "." + key + ": got " + got + ", allowed: " + allowed);
}

caf::error check_http(const provider_config& provider) {
  const bool is_url = provider.base_url.starts_with("http://") || provider.base_url.starts_with("https://");
  if (!is_url) {
    return wrong(provider, "base_url", "\"" + provider.base_url + "\"", "an http:// or https:// address");
  }
  for (const auto& [name, value] : provider.headers) {
    if ((name + value).find_first_of("\r\n") != std::string::npos || name.empty()) {
      return wrong(provider, "headers", "a line end or an empty name", "one line each");
    }
  }
  if (provider.api_key.find_first_of("\r\n ") != std::string::npos) {
    return wrong(provider, "api_key", "white space", "one word");
  }
  return caf::none;
}

}  // namespace

caf::expected<recording> load_recording(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > recording_bytes) {
    return fail(ec::io_failed,
                "cannot read recording \"" + path + "\": " + (error ? error.message() : "larger than 256 MiB"));
  }
  std::ifstream file{path, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (!file) {
    return fail(ec::io_failed, "cannot read recording \"" + path + "\": " + std::system_category().message(errno));
  }
  return read_recording(text, path);
}

caf::error check_provider(const provider_config& provider) {
  switch (provider.kind) {
    case provider_kind::responses:
    case provider_kind::chat:
    case provider_kind::anthropic:
    case provider_kind::relay:
      return check_http(provider);
    case provider_kind::command:
      return provider.argv.empty() ? wrong(provider, "argv", "nothing", "a program and its arguments") : caf::error{};
    case provider_kind::replay: {
      const auto read = load_recording(provider.recording);
      return read ? caf::error{} : read.error();
    }
  }
  return caf::none;
}

}  // namespace regatta
