// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/rate_window.hpp"

#include <algorithm>

namespace regatta {

rate_window::time_point rate_window::free_at(std::uint64_t tokens, time_point now) {
  while (!taken_.empty() && taken_.front().at + width <= now) {
    sum_ -= taken_.front().tokens;
    taken_.pop_front();
  }
  auto out = now;
  if (requests_ != 0 && taken_.size() >= requests_) {
    out = taken_[taken_.size() - requests_].at + width;
  }
  if (tokens_ != 0) {
    auto sum = sum_;
    for (auto it = taken_.begin(); it != taken_.end() && (sum > tokens_ || tokens > tokens_ - sum); ++it) {
      sum -= it->tokens;
      out = std::max(out, it->at + width);
    }
  }
  return out;
}

void rate_window::take(std::uint64_t tokens, time_point now) {
  if (is_limited()) {
    taken_.push_back({now, tokens});
    sum_ += tokens;
  }
}

}  // namespace regatta
