// SPDX-License-Identifier: Apache-2.0
#include "sandbox/kill_switch.hpp"

#include "sandbox/linux_api.hpp"

#include <unistd.h>

namespace regatta::sandbox {

void kill_switch::order(kill_reason why) {
  const std::lock_guard lock{mutex_};
  if (!reason_) {
    reason_ = why;
    ordered_at_ = clock::now();
    fire();
  }
}

bool kill_switch::arm(unique_fd pidfd, unique_fd cgroup_kill, int signal) {
  const std::lock_guard lock{mutex_};
  pidfd_ = std::move(pidfd);
  cgroup_kill_ = std::move(cgroup_kill);
  signal_ = signal;
  if (reason_) {
    fire();
  }
  return !reason_;
}

void kill_switch::disarm() {
  const std::lock_guard lock{mutex_};
  pidfd_.reset();
  cgroup_kill_.reset();
}

std::pair<unique_fd, unique_fd> kill_switch::hand_over() {
  const std::lock_guard lock{mutex_};
  return {std::move(pidfd_), std::move(cgroup_kill_)};
}

std::optional<kill_reason> kill_switch::reason() const {
  const std::lock_guard lock{mutex_};
  return reason_;
}

std::optional<kill_switch::clock::time_point> kill_switch::ordered_at() const {
  const std::lock_guard lock{mutex_};
  return reason_ ? std::optional{ordered_at_} : std::nullopt;
}

void kill_switch::kill_group() {
  const std::lock_guard lock{mutex_};
  if (reason_ && cgroup_kill_) {
    [[maybe_unused]] const auto ignored = ::write(cgroup_kill_.get(), "1", 1);
    cgroup_kill_.reset();
  }
}

/// pid 1's death makes the kernel end its namespace. Only this one call: what wakes all members of a tree, as the
/// cgroup's file does, puts as many processes between us and the next tree.
void kill_switch::fire() {
  if (pidfd_) {
    linux_api::pidfd_send_signal(pidfd_.get(), signal_);
  }
}

}  // namespace regatta::sandbox
