// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which Python runs the candidates, and what lies beside it. Looks at files only; nothing is started.
#pragma once

#include "cli/environment.hpp"
#include "cli/settings.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace regatta::cli {

struct python_candidate {
  std::string path;
  std::string source;         ///< "--python", "VIRTUAL_ENV", "./.venv" …
  bool is_asked_for = false;  ///< By the user: if it is not there that is an error, not a reason to look further.
};

/// --python, REGATTA_PYTHON, configuration > VIRTUAL_ENV > CONDA_PREFIX > ./.venv > the private environment that
/// scripts/setup.sh makes > python3 on PATH.
std::vector<python_candidate> python_candidates(const settings& values, const environment& env);

/// Where $PATH (`path_variable`) finds a program; empty if nowhere.
std::string find_on_path(const std::string& path_variable, const std::string& name);

/// The first that can be run.
std::optional<python_candidate> choose_python(const std::vector<python_candidate>& candidates,
                                              const std::function<bool(const std::string&)>& is_executable);

/// Version of an installed module ("2.13.0+cpu"; "?" if it does not say), or empty if there is none below the
/// prefixes. `version` is the interpreter's own, "3.11.7".
std::string module_version(const std::string& name, const std::vector<std::string>& prefixes,
                           const std::string& version, const std::vector<std::string>& more_folders);

}  // namespace regatta::cli
