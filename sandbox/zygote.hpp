// SPDX-License-Identifier: Apache-2.0
/// \file
/// ZYGOTE: a Python that has loaded what many runs load first, and is a forker of runs then (docs/adr/0009). Two files
/// make one of the candidates' own interpreter.
#pragma once

#include <string>

namespace regatta::sandbox {

/// The seccomp program, as a memory file: the library has none of what builds it.
inline constexpr int zygote_filter_fd = 4;

struct zygote_files {
  std::string library;  ///< libregatta-zygote.so
  std::string script;   ///< zygote.py
  std::string problem;  ///< Why there can be no zygote; empty if both are there.
};
/// Beside our own programs, or where an installation or a bundle has them.
zygote_files find_zygote_files();

}  // namespace regatta::sandbox
