// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where our own programs and data files lie, in a build tree, an installation or an unpacked tarball.
#pragma once

#include <string>

namespace regatta {

/// Folder of `regatta` and `regatta-sandbox`: $REGATTA_BIN_DIR (the tarball's start script sets it), else that of
/// our own executable.
std::string program_dir();

/// `prompts`, `examples`: <program_dir>/../share/regatta/NAME, else the folder of `cmake --install`, else the source
/// tree's. The path of the first that exists; of the first one if none does.
std::string data_dir(const std::string& name);

/// A Python file that runs beside candidates, e.g. `source_check.py`.
std::string python_helper(const std::string& name);

}  // namespace regatta
