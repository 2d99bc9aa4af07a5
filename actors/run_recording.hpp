// SPDX-License-Identifier: Apache-2.0
/// \file
/// A race that was run, as a recording: replayed, it gives the same winner. Pure. docs/recordings.md says what is left
/// out and why.
#pragma once

#include "actors/store_reader.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

struct run_recording {
  std::string text;            ///< `regatta-recording/1`.
  std::uint32_t replies = 0;   ///< Lines but the header.
  std::uint32_t failures = 0;  ///< Those of them that are errors.
  /// Replies before the winner's place whose candidates had no verdict, or passed too late: replayed, one of them might
  /// win.
  std::uint32_t undecided = 0;
  std::uint32_t unheard = 0;   ///< Cancelled, lost, or refused by us before they were asked.
};

run_recording record_run(const race_record& record, const std::vector<reply_row>& replies);

}  // namespace regatta
