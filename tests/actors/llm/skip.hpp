// SPDX-License-Identifier: Apache-2.0
/// \file
/// A test that needs what this machine lacks says so aloud; where REGATTA_REQUIRE names the feature, it fails.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#define REGATTA_NEEDS(condition, feature)                                                            \
  if (!(condition)) {                                                                                \
    const char* required_ = std::getenv("REGATTA_REQUIRE");                                          \
    std::fprintf(stderr, "SKIPPED: %s is not there (python3, python3-h2, openssl)\n", feature);      \
    BOOST_TEST((required_ == nullptr || std::string{required_}.find(feature) == std::string::npos)); \
    return;                                                                                          \
  }                                                                                                  \
  static_assert(true)
