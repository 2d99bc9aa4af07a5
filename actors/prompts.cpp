// SPDX-License-Identifier: Apache-2.0
#include "actors/prompts.hpp"

#include <algorithm>

namespace regatta {

namespace {

std::string_view stripped(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::size_t longest_backtick_run(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const auto x : text) {
    run = x == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

/// In a fence that nothing in `code` can close.
std::string fenced(std::string_view code) {
  const std::string fence(std::max<std::size_t>(3, longest_backtick_run(code) + 1), '`');
  return fence + "python\n" + std::string{code} + (code.ends_with('\n') ? "" : "\n") + fence;
}

}  // namespace

std::string render_prompt(const stage_spec& stage, std::uint32_t variant, const worker_progress& progress,
                          const problem_spec& problem) {
  std::string out;
  if (!stage.variants.empty()) {
    out += stage.variants[variant % stage.variants.size()] + "\n\n";
  }
  out += stage.body + "\n\nATTEMPT: " + std::to_string(progress.round) + "\n";
  const auto error = stripped(progress.error_context);
  if (!error.empty()) {
    out += "\nERROR_CONTEXT:\n" + std::string{error} + "\n";
  }
  if (!error.empty() && !progress.last_code.empty()) {
    out += "\nPREVIOUS_CANDIDATE:\n" + fenced(progress.last_code) + "\n";
  }
  return out + "\nPROBLEM_FILE_CONTENT:\n" + problem.text;
}

}  // namespace regatta
