// SPDX-License-Identifier: Apache-2.0
#include "actors/event_files.hpp"

#include <variant>

namespace regatta {

namespace {

template <class Event>
auto* result_in(Event& x) {
  if (auto* evaluated = std::get_if<candidate_evaluated>(&x.body)) {
    return &evaluated->result;
  }
  auto* won = std::get_if<winner_decided>(&x.body);
  return won == nullptr ? nullptr : &won->result;
}

}  // namespace

bool has_kept_files(const event& x) {
  const auto* result = result_in(x);
  return result != nullptr && !result->kept.empty();
}

event without_kept_files(const event& x) {
  auto copy = x;
  if (auto* result = result_in(copy)) {
    for (auto& file : result->kept) {
      file.content.clear();
    }
  }
  return copy;
}

}  // namespace regatta
