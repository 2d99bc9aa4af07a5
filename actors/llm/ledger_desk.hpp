// SPDX-License-Identifier: Apache-2.0
/// \file
/// LEDGER DESK: what has been asked of the ledger and not been answered yet, and when to ask again. Pure.
///
/// Nothing asked of the ledger is ever forgotten: a row that was opened is closed, whatever became of its call.
///
///   asked --store_full, refused--> held for a second --> asked …
///     |  \--no answer in time---> asked at once (the same row)
///     |   \-store_failed …------> held likewise, until `patience` is over: failed
///     +--answered--> gone
#pragma once

#include "messages/ledger.hpp"

#include <caf/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

/// Of one try; the same for its opening and its closing.
using booking_id = std::uint64_t;

struct ask_ledger {
  booking_id id = 0;
  std::variant<open_call, close_call> what;
};

/// What an error of the ledger means for the one who asked.
struct ledger_refusal {
  bool is_final = false;  ///< It will not be asked again.
  bool is_spent = false;  ///< By reason of a budget.
  std::string why;        ///< For people.
};

class ledger_desk {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Between two questions while the store is full or other reservations are open.
  static constexpr std::chrono::seconds retry_interval{1};
  /// How long a ledger may fail before the calls that need it fail. As long as the store's own commit may take.
  static constexpr std::chrono::seconds patience{60};

  ask_ledger ask(booking_id id, std::variant<open_call, close_call> what);
  /// Its call is gone: an opening ends in a closing that charges nothing, a closing goes on.
  void abandon(booking_id id);

  /// Empty if nobody waits for it (any more).
  bool is_awaited(booking_id id) const;
  /// The opening's answer. Returns the closing to be asked if the call is gone.
  std::optional<ask_ledger> on_opened(booking_id id, std::uint64_t row);
  void on_closed(booking_id id) { open_.erase(id); }
  ledger_refusal on_error(booking_id id, const caf::error& why, time_point now);

  /// What is to be asked again now. `has_room`: a reservation was settled just now, so budgets are asked at once.
  std::vector<ask_ledger> due(time_point now, bool has_room);
  bool is_empty() const { return open_.empty(); }

private:
  enum class hold : std::uint8_t { none, budget, trouble };
  struct booking {
    std::variant<open_call, close_call> what;
    bool is_abandoned = false;
    hold held = hold::none;
    time_point again_at{};
    std::optional<time_point> failing_since;
  };

  std::map<booking_id, booking> open_;
};

}  // namespace regatta
