// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one way to end a run, for any thread: the order is with the kernel when `order` returns.
#pragma once

#include "sandbox/outcome_rules.hpp"
#include "sandbox/unique_fd.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

namespace regatta::sandbox {

class kill_switch {
public:
  using clock = std::chrono::steady_clock;

  /// The first order stands; later ones change nothing.
  void order(kill_reason why);

  /// pid 1 exists. `signal` ends it: SIGKILL with a pid namespace, SIGTERM without (it must hunt first). False if
  /// the run was ordered to end before: pid 1 was killed at once and must not get its go.
  bool arm(unique_fd pidfd, unique_fd cgroup_kill, int signal);

  /// If ordered: once more to all members at once, through the cgroup, as pid 1 is slow to die.
  void kill_group();

  /// The tree is gone: no signal may go to a pid that somebody else has by now. (A pidfd could not, but its number
  /// could be another file's.)
  void disarm();

  /// The means to kill, for the switch of another run that goes on in this process. This one can do nothing any more.
  std::pair<unique_fd, unique_fd> hand_over();

  std::optional<kill_reason> reason() const;
  std::optional<clock::time_point> ordered_at() const;

private:
  void fire();

  mutable std::mutex mutex_;
  unique_fd pidfd_;
  unique_fd cgroup_kill_;
  int signal_ = 0;
  std::optional<kill_reason> reason_;
  clock::time_point ordered_at_;
};

}  // namespace regatta::sandbox
