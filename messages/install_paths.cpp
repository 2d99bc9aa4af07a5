// SPDX-License-Identifier: Apache-2.0
#include "messages/install_paths.hpp"

#include "regatta_version.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace regatta {

namespace fs = std::filesystem;

namespace {

std::string first_existing(const std::vector<fs::path>& paths) {
  std::error_code ignored;
  for (const auto& path : paths) {
    if (fs::exists(path, ignored)) {
      return path.lexically_normal().string();
    }
  }
  return paths.front().lexically_normal().string();
}

}  // namespace

std::string program_dir() {
  if (const char* given = std::getenv("REGATTA_BIN_DIR"); given != nullptr && *given != '\0') {
    return given;
  }
  std::error_code error;
  const auto self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

std::string data_dir(const std::string& name) {
  return first_existing({fs::path{program_dir()} / "../share/regatta" / name, fs::path{install_data_dir} / name,
                         fs::path{source_data_dir} / name});
}

std::string python_helper(const std::string& name) {
  return first_existing({fs::path{program_dir()} / "../share/regatta/python" / name,
                         fs::path{install_data_dir} / "python" / name,
                         fs::path{source_data_dir} / "sandbox/python" / name});
}

}  // namespace regatta
