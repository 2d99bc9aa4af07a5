// SPDX-License-Identifier: Apache-2.0
/// \file
/// Keeps the first and the last bytes of a stream, counts all of it.
#pragma once

#include "messages/limits.hpp"

#include <string>
#include <string_view>

namespace regatta::sandbox {

class output_keeper {
public:
  explicit output_keeper(byte_count head = kept_output_head, byte_count tail = kept_output_tail)
      : head_limit_(head), tail_limit_(tail) {}

  void feed(std::string_view bytes);
  byte_count total() const { return total_; }
  /// Head, a line that says how many bytes are missing if any are, tail.
  std::string text() const;
  /// The end of what was kept, at most `size` bytes.
  std::string_view last(std::size_t size) const;

private:
  byte_count head_limit_;
  byte_count tail_limit_;
  byte_count total_ = 0;
  std::string head_;
  /// Up to twice the limit, so that it is cut once per `tail_limit_` bytes and not at every piece.
  std::string tail_;
};

}  // namespace regatta::sandbox
