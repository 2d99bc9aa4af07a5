// SPDX-License-Identifier: Apache-2.0
#include "sandbox/output_keeper.hpp"

#include <algorithm>

namespace regatta::sandbox {

void output_keeper::feed(std::string_view bytes) {
  total_ += bytes.size();
  const auto to_head = std::min<std::size_t>(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  tail_.append(bytes.substr(to_head));
  if (tail_.size() > 2 * tail_limit_) {
    tail_.erase(0, tail_.size() - tail_limit_);
  }
}

std::string output_keeper::text() const {
  const auto tail = last(tail_limit_);
  const auto missing = total_ - head_.size() - std::min<byte_count>(tail.size(), total_ - head_.size());
  if (missing == 0) {
    return head_ + tail_;
  }
  std::string text = head_;
  text += text.empty() || text.back() == '\n' ? "" : "\n";
  text += "[regatta: " + std::to_string(missing) + " bytes left out here]\n";
  return text.append(tail);
}

std::string_view output_keeper::last(std::size_t size) const {
  const std::string_view from = tail_.empty() ? head_ : tail_;
  return from.substr(from.size() - std::min(size, from.size()));
}

}  // namespace regatta::sandbox
