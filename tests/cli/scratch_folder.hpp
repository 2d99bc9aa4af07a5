// SPDX-License-Identifier: Apache-2.0
/// \file
/// A folder of a test's own, and files in it.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace regatta::test {

class scratch_folder {
public:
  scratch_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "regatta-cli-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const auto path = *this / name;
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
    std::ofstream{path, std::ios::binary} << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

private:
  std::string path_;
};

}  // namespace regatta::test
