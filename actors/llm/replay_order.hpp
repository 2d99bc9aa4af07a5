// SPDX-License-Identifier: Apache-2.0
/// \file
/// REPLAY ORDER: which recorded reply may be handed out next, so that a race's winner does not depend on the
/// machine's speed. Pure; one per race. docs/recordings.md tells the reasoning.
///
/// A reply *can win* unless it brings no text or is marked `accepted: false`. Those that cannot win go out at once.
/// Of those that can, the first in the order (round, worker) goes out, and only if no worker can still win at an
/// earlier place; the next one follows when its worker has asked again or ended.
#pragma once

#include "actors/llm/recording_codec.hpp"

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace regatta {

class replay_order {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// A worker of which nothing is heard for this long after the race's first prompt is taken not to race. The same
  /// as `silence_limit`; only recordings with more workers than the race ever wait for it.
  static constexpr std::chrono::seconds absent_after{15};

  replay_order(const recording& source, bool is_ordered) : source_{&source}, is_ordered_{is_ordered} {}

  /// `workers`: how many race; 0 if not known: then those of the recording.
  void on_ask(const recording_key& key, std::uint32_t workers, time_point now);
  /// It ended, asks elsewhere, or will never be heard of: it waits for nobody and nobody for it.
  void on_done(std::uint32_t worker);
  /// The asked replies that may go out now; each is named once.
  std::vector<recording_key> release(time_point now);
  /// Whose turn it is, for people: "worker 2, round 1".
  std::string whose_turn() const;

private:
  /// Round, then worker.
  struct place {
    std::uint32_t round = 0;
    std::uint32_t worker = 0;
    auto operator<=>(const place&) const = default;
  };
  enum class step : std::uint8_t { unheard, asking, busy, done };
  struct standing {
    step at = step::unheard;
    recording_key key;
    std::optional<place> next_win;
  };

  bool can_win(const recording_key& key) const;
  /// The first place from `key` on at which its worker can win.
  std::optional<place> first_win(const recording_key& key) const;
  void expect(std::uint32_t workers);

  const recording* source_;
  bool is_ordered_;
  bool is_begun_ = false;
  time_point first_ask_{};
  std::map<std::uint32_t, standing> racers_;
};

}  // namespace regatta
