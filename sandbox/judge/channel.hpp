// SPDX-License-Identifier: Apache-2.0
/// \file
/// Frames from and to one side, over two pipes. Patience is what a side may make us wait: only time spent waiting for
/// this side counts, so that nobody pays for the slowness of the other.
#pragma once

#include "sandbox/judge/ending.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace regatta::judge {

/// 4 MiB: 4,096 leaves with long names need far less.
inline constexpr std::size_t most_head_bytes = std::size_t{4} << 20;
inline constexpr std::size_t frame_prefix_bytes = 12;

/// Where bytes of tensors come from, in their order.
class byte_source {
public:
  byte_source() = default;
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;
  virtual ~byte_source() = default;
  /// Fills all of `out` or throws.
  virtual void read(std::span<std::byte> out) = 0;
};

/// Does not own the descriptors; makes them non-blocking. SIGPIPE must be ignored.
class channel final : public byte_source {
public:
  channel(side who, int read_fd, int write_fd, std::uint64_t body_limit);

  side who() const { return who_; }
  /// From now on we may wait for so long, in all.
  void arm(std::chrono::milliseconds patience);

  /// The head of the next frame; its body is then read in pieces. Throws session_end: gone, timed_out, too_large
  /// (reference) or malformed sizes.
  std::string read_head();
  std::uint64_t body_left() const { return body_left_; }
  /// Of the body. Asking for more than is left is our own mistake and throws std::logic_error.
  void read(std::span<std::byte> out) override;
  void skip_body();

  void send_head(std::string_view head, std::uint64_t body_bytes);
  void send_body(std::span<const std::byte> bytes);

  [[noreturn]] void fail(const std::string& what);
  /// Nothing that comes from it can be understood any more.
  bool is_broken() const { return is_broken_; }

private:
  void read_bytes(std::span<std::byte> out, const char* what);
  void write_bytes(std::span<const std::byte> bytes);
  void wait_for(int fd, short events, const char* what);
  [[noreturn]] void gone(const char* what);
  [[noreturn]] void end(ending judgement, std::string reason);

  side who_;
  int read_fd_;
  int write_fd_;
  std::uint64_t body_limit_;
  std::uint64_t body_left_ = 0;
  std::chrono::steady_clock::duration patience_{};
  std::chrono::milliseconds armed_{};
  bool is_broken_ = false;
};

}  // namespace regatta::judge
