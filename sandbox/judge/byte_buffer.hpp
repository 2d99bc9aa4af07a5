// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bytes kept in memory of this process: what was compared or forwarded is a copy that no side can change. The memory is
/// touched only as far as bytes have come, so a large claim alone costs nothing.
#pragma once

#include "sandbox/judge/channel.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

namespace regatta::judge {

/// Of tensors' bytes between pipes and comparison: large enough that system calls do not count, small enough for a cache.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 18;

class byte_buffer {
public:
  byte_buffer() = default;
  explicit byte_buffer(std::size_t capacity)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity)), capacity_(capacity) {}

  void add(std::span<const std::byte> more) { std::memcpy(room(more.size()).data(), more.data(), more.size()); }
  /// Reads all that fits from `from`; `each` sees every piece.
  template <class Each>
  void fill(byte_source& from, Each each) {
    while (size_ < capacity_) {
      const auto piece = room(std::min(piece_bytes, capacity_ - size_));
      from.read(piece);
      each(std::span<const std::byte>{piece});
    }
  }
  void fill(byte_source& from) {
    fill(from, [](std::span<const std::byte>) {});
  }
  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }

private:
  /// The next `size` bytes, to be written.
  std::span<std::byte> room(std::size_t size) {
    if (size > capacity_ - size_) {
      throw std::logic_error{"a buffer is too small for what it was made for"};
    }
    const std::span<std::byte> out{bytes_.get() + size_, size};
    size_ += size;
    return out;
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

/// Bytes that are in memory already.
class memory_source final : public byte_source {
public:
  explicit memory_source(std::span<const std::byte> bytes) : rest_(bytes) {}
  void read(std::span<std::byte> out) override {
    if (out.size() > rest_.size()) {
      throw std::logic_error{"more asked of a buffer than it has"};
    }
    std::memcpy(out.data(), rest_.data(), out.size());
    rest_ = rest_.subspan(out.size());
  }

private:
  std::span<const std::byte> rest_;
};

}  // namespace regatta::judge
