// SPDX-License-Identifier: Apache-2.0
/// \file
/// The record of a timing: what the comparator measured, whose it is, and what surrounded it (docs/judge.md, "Timing").
#pragma once

#include "messages/evaluation.hpp"
#include "node/timing_watch.hpp"

#include <string>
#include <string_view>

namespace regatta {

/// One JSON object; empty if `verdict` has no timing.
std::string timing_record_of(std::string_view verdict, const run& what, const timing_surroundings& around);

}  // namespace regatta
