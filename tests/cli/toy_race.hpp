// SPDX-License-Identifier: Apache-2.0
/// \file
/// The command line of a race that takes no second: the toy problem, the system's Python, replies from a recording.
#pragma once

#include "tests/cli/program_run.hpp"

#include <string>
#include <vector>

namespace regatta::test {

using texts = std::vector<std::string>;

inline std::string toy_recording() {
  return source_path("examples/toy/moving_average.jsonl");
}

inline texts race(const texts& more, const std::string& recording) {
  texts out{regatta_program(), "race", "--accept", "claimed", source_path("examples/toy/moving_average.py"),
            "--replay",         recording,  "--python",
            "/usr/bin/python3", "--device", "cpu"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

/// For a shell.
inline std::string command_of(const texts& argv) {
  std::string out;
  for (const auto& word : argv) {
    out += "'" + word + "' ";
  }
  return out;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace regatta::test
