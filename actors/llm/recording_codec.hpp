// SPDX-License-Identifier: Apache-2.0
/// \file
/// RECORDINGS: `regatta-recording/1`, JSON Lines; docs/recordings.md describes it. Pure: text in, text out.
#pragma once

#include "actors/llm/reply.hpp"
#include "messages/error.hpp"

#include <caf/expected.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// Sorted by worker, so that one worker's replies stand together.
struct recording_key {
  std::uint32_t worker = 0;
  std::uint32_t round = 0;
  std::uint32_t attempt = 1;
  auto operator<=>(const recording_key&) const = default;
};

struct recorded_reply {
  recording_key key;
  std::vector<std::string> deltas;
  std::vector<std::chrono::milliseconds> delays;  ///< Before each delta; shorter than `deltas`: none for the rest.
  std::string finish;
  std::string response_id;
  token_usage usage;
  std::optional<llm_outcome> error;  ///< Instead of a finish.
  std::string error_text;
  std::uint32_t http_status = 0;
  bool is_stalled = false;          ///< Never ends.
  std::optional<bool> is_accepted;  ///< Whether its candidate was accepted when it was recorded; see replay_order.
};

struct recording {
  std::uint32_t workers = 0;  ///< Of the recorded race; 0: not said.
  std::map<recording_key, recorded_reply> replies;
};

/// Fails: `ec::invalid_config`, naming file, line, got and allowed.
caf::expected<recording> read_recording(std::string_view text, const std::string& file);

/// One line each, line end included.
std::string recording_header(std::uint32_t workers);
std::string recording_line(const recorded_reply& reply);

/// How a call ends that gets this reply.
try_result result_of(const recorded_reply& reply);

}  // namespace regatta
