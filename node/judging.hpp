// SPDX-License-Identifier: Apache-2.0
/// \file
/// One JUDGING: comparator, reference side and candidate side are started together and end together.
#pragma once

#include "node/candidate_launcher.hpp"
#include "node/judge_codec.hpp"
#include "node/judge_specs.hpp"
#include "sandbox/runner.hpp"

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace regatta {

/// What the three ends come to. Pure. `candidate` is absent in a probe.
judged_end judge_ends(const sandbox::run_result& comparator, const sandbox::run_result& reference,
                      const sandbox::run_result* candidate);

class judging : public std::enable_shared_from_this<judging> {
public:
  using callback = std::function<void(judged_end)>;

  /// The runner outlives every run of its own. Not owned: the last owner of this is often the runner's thread.
  explicit judging(sandbox::runner& runner) : runner_{runner} {}

  /// Once. `done` is called once, on the sandbox's thread, when all three trees are gone.
  void start(judge_specs specs, bool is_probe, callback done);

  /// Kills all three; returns once the kill orders are given.
  void cancel();

private:
  enum part : std::size_t { comparator, reference, candidate };
  void launch(part which, sandbox::run_spec spec);
  void on_end(part which, sandbox::run_result result);

  sandbox::runner& runner_;
  std::mutex mutex_;
  callback done_;
  bool is_probe_ = false;
  std::size_t open_ = 0;
  std::array<sandbox::run_handle, 3> handles_{};
  std::array<std::optional<sandbox::run_result>, 3> results_;
};

}  // namespace regatta
