// SPDX-License-Identifier: Apache-2.0
/// \file
/// Errors of results that may have none: `caf::expected::error` must not be called on a value.
#pragma once

#include "messages/error.hpp"

#include <caf/expected.hpp>

#include <string>

namespace regatta::test {

template <class T>
std::string why(const caf::expected<T>& x) {
  return x ? std::string{} : describe(x.error());
}

template <class T>
ec failure(const caf::expected<T>& x) {
  return x ? ec::none : code_of(x.error());
}

}  // namespace regatta::test
