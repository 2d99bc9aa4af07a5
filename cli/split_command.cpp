// SPDX-License-Identifier: Apache-2.0
#include "cli/providers.hpp"
#include "messages/error.hpp"

namespace regatta::cli {

caf::expected<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool has_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      has_word = true;
    } else if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      has_word = true;
    } else if (!is_blank) {
      word += c;
      has_word = true;
    } else if (has_word) {
      words.push_back(std::move(word));
      word.clear();
      has_word = false;
    }
  }
  if (quote != '\0') {
    return fail(ec::invalid_config, "--command: got a quote that is never closed, allowed: PROGRAM ARGS");
  }
  if (has_word) {
    words.push_back(std::move(word));
  }
  if (words.empty() || words.front().empty()) {
    return fail(ec::invalid_config, "--command: got no program, allowed: PROGRAM ARGS");
  }
  return words;
}

}  // namespace regatta::cli
