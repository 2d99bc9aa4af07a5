// SPDX-License-Identifier: Apache-2.0
/// \file
/// A folder of one test, gone with it; and reading what lies there.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace regatta::test {

class scratch_folder {
public:
  scratch_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "regatta-store-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::string path;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  BOOST_REQUIRE_MESSAGE(in.good(), "no file " + path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Every regular file below `folder`, as sorted relative paths.
inline std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      out.push_back(std::filesystem::relative(entry.path(), folder).string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace regatta::test
