// SPDX-License-Identifier: Apache-2.0
/// \file
/// One timer per actor for whatever deadline its rules name next.
#pragma once

#include "messages/opaque.hpp"

#include <caf/actor_clock.hpp>

#include <cstdint>
#include <optional>

namespace regatta {

/// An actor to itself: look at your deadline.
struct wake_up {
  std::uint32_t unused = 0;
  REGATTA_FIELDS(unused);
};

/// A deadline that only moves on (a beating holder's) costs one timer per period, not one per beat: the timer fires
/// at the old deadline, the rules see that it is too early, and it is armed again.
class wake_timer {
public:
  using time_point = caf::actor_clock::time_point;

  /// After every message. `self`: a typed actor that takes `wake_up`.
  void arm(auto* self, const std::optional<time_point>& deadline) {
    if (!deadline || (armed_for_ && *armed_for_ <= *deadline)) {
      return;
    }
    armed_for_ = deadline;
    self->delayed_send(self, *deadline - self->clock().now(), wake_up{});
  }
  /// First thing in the handler of `wake_up`.
  void on_fired() { armed_for_.reset(); }

private:
  std::optional<time_point> armed_for_;
};

}  // namespace regatta
