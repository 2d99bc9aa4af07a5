// SPDX-License-Identifier: Apache-2.0
/// \file
/// How large a problem may be: the one place that decides it. Both sides of the judge and its comparator are told.
#pragma once

#include "messages/limits.hpp"

namespace regatta {

struct memory_at_hand {
  byte_count host = 0;    ///< All of this machine's.
  byte_count device = 0;  ///< Of the leased GPU; 0: a CPU slot.
};
memory_at_hand memory_of(byte_count device);

/// Bytes of inputs, outputs and parameters that one question may have together, so that both sides can live at once.
byte_count question_room(const run_limits& limits, const memory_at_hand& memory);

/// Tensors in one frame: what a call changed in place comes once more.
constexpr byte_count frame_room(byte_count question) { return 2 * question; }

}  // namespace regatta
