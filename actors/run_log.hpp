// SPDX-License-Identifier: Apache-2.0
/// \file
/// Facts as single lines for people: what logs/worker.log and orchestrator.log say. Pure.
#pragma once

#include "messages/event.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace regatta {

/// `2026-11-30T22:51:22.123456Z`.
std::string utc_text(std::int64_t at_us);

/// The line's text without time and line end; empty for facts that no log mentions (`reply_delta`).
std::string line_of(const fact& x);

/// Whose log it belongs to: empty means the race's.
worker_id worker_of(const fact& x);

/// Line breaks and control characters replaced, at most 500 bytes: a log line stays one line in any terminal.
std::string one_line(std::string_view text);

/// Control characters but line feed and tab dropped, for logs that hold text of a model as it comes.
std::string without_controls(std::string_view text);

}  // namespace regatta
