// SPDX-License-Identifier: Apache-2.0
/// \file
/// What threads told us, and a way to wait for it without sleeping.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace regatta::test {

template <class T>
class waiting_list {
public:
  void add(T x) {
    const std::lock_guard lock{mutex_};
    all_.push_back(std::move(x));
    changed_.notify_all();
  }
  /// True as soon as `enough(all)`; false if that does not happen in time.
  template <class Predicate>
  bool wait(Predicate enough, std::chrono::milliseconds timeout = std::chrono::seconds{15}) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, timeout, [&] { return enough(std::as_const(all_)); });
  }
  std::vector<T> all() const {
    const std::lock_guard lock{mutex_};
    return all_;
  }
  /// Forgets the oldest ones.
  void drop(std::size_t count) {
    const std::lock_guard lock{mutex_};
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(count));
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> all_;
};

}  // namespace regatta::test
