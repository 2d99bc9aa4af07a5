// SPDX-License-Identifier: Apache-2.0
/// \file
/// GONE MODELS: what a provider has refused for good, so that a thousand workers do not each ask again. Pure.
///
///   asked --401, 403 (all models), 404, quota (this model)--> gone for a minute --> one call is let through
#pragma once

#include "actors/llm/reply.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace regatta {

class gone_models {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// A key or a quota that a person mends is noticed within a minute. Judgement.
  static constexpr std::chrono::seconds memory{60};

  /// The answer to a call that need not go out. Empty: it may. `caller`: never 0.
  std::optional<try_result> answer_for(const std::string& provider, const std::string& model, std::uint64_t caller,
                                       time_point now);
  /// The end of a try.
  void on_ended(
      const std::string& provider, const std::string& model, const try_result& result,
      time_point now);  /// Whatever became of the caller: if it was let through and has told nothing, another one is.
  void on_gone(std::uint64_t caller);

private:
  struct entry {
    try_result answer;
    time_point since;
    time_point until;
    std::uint64_t let_through = 0;
  };
  std::map<std::pair<std::string, std::string>, entry> entries_;
};

}  // namespace regatta
