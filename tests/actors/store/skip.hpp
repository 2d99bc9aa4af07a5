// SPDX-License-Identifier: Apache-2.0
/// \file
/// Skips that nobody overlooks.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

namespace regatta::test {

inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Fails if REGATTA_REQUIRE names `feature`, else says aloud that a test was passed over.
inline void skip(const std::string& feature, const std::string& why) {
  std::cerr << "SKIPPED: " << why << " (feature " << feature << ")\n";
  BOOST_TEST(environment("REGATTA_REQUIRE").find(feature) == std::string::npos, "required: " << feature << ", " << why);
}

}  // namespace regatta::test
