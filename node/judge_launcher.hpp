// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs candidates as their race accepts them: their own self-test, the judge, or the one after the other.
#pragma once

#include "node/candidate_launcher.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/runner.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace regatta {

class judge_launcher final : public candidate_launcher {
public:
  /// `self_tests` runs what is only claimed.
  judge_launcher(std::shared_ptr<candidate_launcher> self_tests, std::shared_ptr<sandbox::runner> runner,
                 sandbox::interpreter python, std::map<std::string, std::string> host_environment);

  handle start(const run& what, const placement& where, std::function<void(judged_end)> done) override;
  void cancel(handle run) override;

private:
  /// What callbacks on the runner's thread hold on to. They must not own the runner: its destructor waits for them.
  struct core;

  const std::shared_ptr<sandbox::runner> runner_;
  const std::shared_ptr<candidate_launcher> self_tests_;
  const std::shared_ptr<core> core_;
};

}  // namespace regatta
