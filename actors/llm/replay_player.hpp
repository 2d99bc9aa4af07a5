// SPDX-License-Identifier: Apache-2.0
/// \file
/// One `replay` provider: hands out recorded replies, in order and with their delays. Pure.
#pragma once

#include "actors/llm/recording_codec.hpp"
#include "actors/llm/replay_order.hpp"
#include "messages/ids.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace regatta {

/// Something of a call: more text, its end, or both.
struct replay_step {
  work_key key;
  std::string text;
  std::optional<try_result> end;
};

class replay_player {
public:
  using time_point = replay_order::time_point;

  replay_player(recording source, std::string file, bool is_ordered)
      : source_{std::move(source)}, file_{std::move(file)}, is_ordered_{is_ordered} {}
  replay_player(const replay_player&) = delete;
  replay_player& operator=(const replay_player&) = delete;

  void ask(const work_key& key, std::uint32_t workers, time_point now);
  /// This worker is done here: it ended or asks another provider. Its open reply is dropped.
  void forget(const race_id& race, const worker_id& worker);
  void forget(const race_id& race);
  std::vector<replay_step> advance(time_point now);
  /// What a call that got nothing yet waits for.
  std::string waits_for(const work_key& key) const;

private:
  struct playing {
    work_key call;
    const recorded_reply* reply = nullptr;
    std::size_t told = 0;
    time_point next_at{};
  };
  struct race_state {
    replay_order order;
    std::map<recording_key, work_key> asked;
    std::vector<playing> running;
  };

  void begin(race_state& race, const recording_key& key, time_point now);
  /// True if it is over.
  bool play(playing& x, time_point now, std::vector<replay_step>& out) const;
  void end_unrecorded(race_state& race, std::vector<replay_step>& out) const;

  recording source_;
  std::string file_;
  bool is_ordered_;
  std::map<race_id, race_state> races_;
};

/// The number in `worker_07`; 0 if there is none.
std::uint32_t number_of(const worker_id& worker);

}  // namespace regatta
