// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a forker does otherwise whose candidates are forked ready instead of exec'd.
#pragma once

#include "sandbox/launch_plan.hpp"

namespace regatta::sandbox {

class warm_parent {
public:
  virtual ~warm_parent() = default;
  /// Asked before every fork: one thread, no device in use.
  virtual bool is_fit() = 0;
  /// Around every fork, in the parent.
  virtual void before_fork() = 0;
  virtual void after_fork() = 0;
  /// In the candidate, once it is confined, in place of exec.
  [[noreturn]] virtual void become(const launch_plan& plan) = 0;
};

}  // namespace regatta::sandbox
