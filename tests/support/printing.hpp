// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lets BOOST_TEST print our types on failure: anything with an ADL `to_string`.
#pragma once

#include "messages/error.hpp"

#include <caf/error.hpp>

#include <ostream>

namespace regatta {

template <class T>
requires requires(const T& x) { to_string(x); }
std::ostream& boost_test_print_type(std::ostream& out, const T& x) {
  return out << to_string(x);
}

}  // namespace regatta

namespace caf {

inline std::ostream& boost_test_print_type(std::ostream& out, const error& x) {
  return out << regatta::describe(x);
}

}  // namespace caf
