// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the evaluator needs of a sandbox: start, end, kill. The real one runs candidates (node/sandbox_launcher.hpp),
/// the tests' one answers from a script.
#pragma once

#include "messages/evaluation.hpp"
#include "sandbox/run_spec.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace regatta {

struct gpu;

/// Where a run is to be.
struct placement {
  const gpu* device = nullptr;  ///< The leased GPU; null: a CPU slot.
  /// Nobody else has a slot of that device, and nothing of ours may wait on it either.
  bool is_alone = false;
};

/// The end of a run: what the sandbox saw, and what the judge found if it had a part in it.
struct judged_end {
  judged_end() = default;
  judged_end(sandbox::run_result x) : run{std::move(x)} {}  // NOLINT(google-explicit-constructor): a run without a judge

  sandbox::run_result run;
  regatta::judgement judgement = judgement::not_judged;
  std::string feedback;  ///< For the model.
  std::string record;    ///< The verdict, JSON.
  std::string timing;    ///< What a timing found, JSON; empty: it was none, or came to nothing.
  std::chrono::microseconds whole_cpu{};  ///< Of all trees that had a part in it.
};

class candidate_launcher {
public:
  using handle = std::uint64_t;

  candidate_launcher() = default;
  candidate_launcher(const candidate_launcher&) = delete;
  candidate_launcher& operator=(const candidate_launcher&) = delete;
  virtual ~candidate_launcher() = default;

  /// Never blocks. `done` is called once, on any thread, when the whole tree is gone; also if nothing could be
  /// started. `where` need not live longer than the call.
  virtual handle start(const run& what, const placement& where, std::function<void(judged_end)> done) = 0;

  /// Returns once the kill order is given; `done` still follows. Nothing happens if the run has ended.
  virtual void cancel(handle run) = 0;
};

}  // namespace regatta
