// SPDX-License-Identifier: Apache-2.0
/// \file
/// A descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace regatta {

class owned_fd {
public:
  explicit owned_fd(int fd = -1) : fd_{fd} {}
  owned_fd(owned_fd&& other) noexcept : fd_{other.release()} {}
  owned_fd& operator=(owned_fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  ~owned_fd() { reset(); }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }

private:
  int fd_;
};

}  // namespace regatta
