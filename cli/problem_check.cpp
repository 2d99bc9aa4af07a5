// SPDX-License-Identifier: Apache-2.0
#include "cli/problem_check.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace regatta::cli {

namespace {

constexpr std::array<std::string_view, 3> needed = {"Model", "get_inputs", "get_init_inputs"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool has_word(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_word(line[at - 1])) && (end == line.size() || !is_word(line[end]))) {
      return true;
    }
  }
  return false;
}

/// `get_init_inputs = list` and `from torch.nn import ReLU as Model` define a name, too. Generous: what is refused here
/// cannot be raced at all.
bool line_binds(std::string_view line, std::string_view name) {
  const auto code = line.substr(0, line.find('#'));
  if (code.starts_with("from ") || code.starts_with("import ")) {
    return has_word(code, name);
  }
  const auto equals = code.find('=');
  return equals != std::string_view::npos && !code.starts_with(' ') && has_word(code.substr(0, equals), name);
}

bool binds(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    if (line_binds(text.substr(at, end - at), name)) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string why_no_problem(const source_facts& facts, std::string_view text) {
  if (!facts.parses) {
    return facts.error.empty() ? "not Python" : facts.error;
  }
  std::string missing;
  for (const auto name : needed) {
    const auto& known = facts.definitions;
    if (std::find(known.begin(), known.end(), name) == known.end() && !binds(text, name)) {
      missing += (missing.empty() ? "got no " : ", no ") + std::string{name};
    }
  }
  return missing.empty() ? missing : missing + " at its top level";
}

}  // namespace regatta::cli
