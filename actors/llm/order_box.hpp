// SPDX-License-Identifier: Apache-2.0
/// \file
/// What other threads want of a loop's thread: things to start, things to cancel. The loop takes all of it at once.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace regatta {

template <class T>
class order_box {
public:
  struct orders {
    std::vector<std::pair<std::uint64_t, T>> to_start;
    std::vector<std::uint64_t> to_cancel;
  };

  void start(std::uint64_t id, T what) {
    const std::lock_guard lock{mutex_};
    waiting_.to_start.emplace_back(id, std::move(what));
  }
  void cancel(std::uint64_t id) {
    const std::lock_guard lock{mutex_};
    waiting_.to_cancel.push_back(id);
  }
  orders take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(waiting_, {});
  }

private:
  std::mutex mutex_;
  orders waiting_;
};

}  // namespace regatta
