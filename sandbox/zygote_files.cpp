// SPDX-License-Identifier: Apache-2.0
#include "messages/install_paths.hpp"
#include "sandbox/zygote.hpp"

#include <unistd.h>

namespace regatta::sandbox {

zygote_files find_zygote_files() {
  zygote_files found;
  const std::string name = "libregatta-zygote.so";
  for (const char* folder : {"/", "/../libexec/", "/../lib/regatta/"}) {
    if (auto path = program_dir() + folder + name; found.library.empty() && ::access(path.c_str(), R_OK) == 0) {
      found.library = std::move(path);
    }
  }
  found.script = python_helper("zygote.py");
  if (found.library.empty()) {
    found.problem = name + " was not found beside this program";
  } else if (::access(found.script.c_str(), R_OK) != 0) {
    found.problem = found.script + " cannot be read";
  }
  return found;
}

}  // namespace regatta::sandbox
