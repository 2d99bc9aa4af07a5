// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/head_reader.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace regatta {

namespace {
/// More than any server sends; the rest is dropped.
constexpr std::size_t header_limit = 200;
}  // namespace

bool head_reader::take(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  if (is_whole_) {
    return false;
  }
  if (line.starts_with("HTTP/")) {
    const auto space = std::min(line.find(' '), line.size() - 1);
    std::from_chars(line.data() + space + 1, line.data() + line.size(), status_);
    headers_.clear();
  } else if (line.empty()) {
    is_whole_ = status_ >= 200;
  } else if (const auto colon = line.find(':'); colon != line.npos && headers_.size() < header_limit) {
    std::string name{line.substr(0, colon)};
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    headers_.emplace_back(std::move(name), line.substr(std::min(line.find_first_not_of(' ', colon + 1), line.size())));
  }
  return is_whole_;
}

}  // namespace regatta
