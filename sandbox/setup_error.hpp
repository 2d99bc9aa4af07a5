// SPDX-License-Identifier: Apache-2.0
/// \file
/// Thrown inside pid 1 of a run only: which step of the set-up failed and with which errno.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

namespace regatta::sandbox {

struct setup_error {
  std::string step;
  int error = 0;
};

inline void check_step(bool is_done, std::string step) {
  if (!is_done) {
    const int error = errno;
    throw setup_error{std::move(step), error};
  }
}

}  // namespace regatta::sandbox
