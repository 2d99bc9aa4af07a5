// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests of the extractor: a stand-in for the source checker that needs no Python.
#pragma once

#include "actors/code_extractor.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::tests {

/// Knows enough of Python for these tests: `def x`, `class x` at the margin define; three double quotes must come in
/// pairs; any other line at the margin must look like an assignment, import, call or comment.
inline source_facts facts_of(std::string_view text) {
  source_facts out{true, {}, {}, false};
  bool in_string = false;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1);
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++number;
    const bool was_in_string = in_string;
    for (auto at = line.find("\"\"\""); at != std::string_view::npos; at = line.find("\"\"\"", at + 3)) {
      in_string = !in_string;
    }
    if (was_in_string || line.empty() || line.front() == ' ' || line.front() == '\t' || line.front() == '#') {
      continue;
    }
    if (line.starts_with("def ") || line.starts_with("class ")) {
      const auto name = line.substr(line.find(' ') + 1);
      out.definitions.emplace_back(name.substr(0, name.find_first_of("(:")));
    } else if (!line.starts_with("import ") && line.find_first_of("=(") == std::string_view::npos &&
               !line.starts_with("\"\"\"")) {
      out = {false, "line " + std::to_string(number) + ": invalid syntax", {}, false};
      return out;
    }
  }
  return in_string ? source_facts{false, "line " + std::to_string(number) + ": unterminated string", {}, false} : out;
}

struct extracted {
  found_code found;
  chosen_code chosen;
};

/// Both steps, as the worker takes them.
inline extracted extract(std::string_view reply, const std::vector<std::string>& must_define = {"ModelNew"},
                         bool is_cut = false) {
  extracted out{find_code(reply, is_cut), {}};
  std::vector<source_facts> facts;
  for (const auto& option : out.found.options) {
    facts.push_back(facts_of(option.text));
  }
  out.chosen = choose_code(out.found, facts, must_define, is_cut);
  return out;
}

}  // namespace regatta::tests
