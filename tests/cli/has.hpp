// SPDX-License-Identifier: Apache-2.0
/// \file
/// For texts of which only a part matters.
#pragma once

#include <string>

namespace regatta::cli {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace regatta::cli
