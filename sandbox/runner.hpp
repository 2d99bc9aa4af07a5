// SPDX-License-Identifier: Apache-2.0
/// \file
/// RUNNER: runs candidates, any number at once, from one epoll thread; never forks in the calling process.
///
/// Theory of operation: sandbox/README.md. In short: the runner's thread talks to one *forker*, a tiny process
/// exec'd with an empty environment; the forker clones pid 1 of each run into new namespaces; pid 1 builds the
/// root, starts the candidate, reaps, reports. A run is over when the kernel says through pid 1's pidfd that the
/// whole tree is gone, never before.
#pragma once

#include "sandbox/probe.hpp"
#include "sandbox/run_spec.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace regatta::sandbox {

struct runner_config {
  /// Refuse below this. `level::none` needs `allow_unsandboxed`, too.
  level require = level::namespaced;
  bool allow_unsandboxed = false;
  /// Use at most this level although the host offers more (tests; `--sandbox-level`).
  level at_most = level::full;
  /// `regatta-sandbox`, which is also the forker. Empty: beside our own executable, then on PATH.
  std::string forker_path;
  /// Without: every run starts cold, whatever it wishes.
  bool allow_warm = true;
  /// Runs at once; more are an error of the caller. Bounds descriptors and uids.
  std::uint32_t slots = 64;
};

using run_handle = std::uint64_t;

class runner {
public:
  /// Starts forker and thread. Null and `error` filled if the level is refused or the forker cannot be started;
  /// the text names level found, level required and what would raise it.
  static std::unique_ptr<runner> open(const runner_config& config, const host_facts& facts, std::string& error);

  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;
  /// Kills every run, waits until all trees are gone, ends forker and thread.
  ~runner();

  /// Never blocks. `done` is called exactly once, on the runner's thread, when the tree is gone; it must not block
  /// nor call the destructor. A spec that cannot be run ends as `sandbox_failed` with the reason.
  run_handle start(run_spec spec, std::function<void(run_result)> done);

  /// As above for `is_interactive`: `on_stdout` gets pieces as they come, on the runner's thread.
  run_handle start_interactive(run_spec spec, std::function<void(std::string_view)> on_stdout,
                               std::function<void(run_result)> done);
  /// To the stdin of an interactive run; buffered without limit (bounded by the caller), dropped if the run is over.
  void write(run_handle run, std::string bytes);

  /// Kill the tree now. Returns after the kill order was given to the kernel (or the run was found ended), so a
  /// caller may report "signalled". `done` still follows with `outcome::cancelled`.
  void cancel(run_handle run);

  level obtained() const;
  std::uint32_t running() const;

private:
  runner();
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace regatta::sandbox
