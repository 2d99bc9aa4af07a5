// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a provider has said so far, whichever wire it speaks, and how one try ended.
#pragma once

#include "messages/llm.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace regatta {

struct reply_so_far {
  std::string text;
  std::string refusal;
  std::string finish_reason;  ///< The provider's own word.
  std::string response_id;
  token_usage usage;
  /// Messages only: input that was neither read from the provider's cache nor written to it.
  std::optional<std::uint64_t> fresh_input_tokens;
  std::map<std::uint64_t, std::size_t> block_ends;  ///< Messages only: where in `text` each block ends, by index.
  bool has_reasoning = false;  ///< Something was thought that is not text.
  bool has_content = false;    ///< An event that belongs to a reply came, empty ones included.
  bool is_finished = false;    ///< The wire's own end was seen; usage may still follow.
  bool is_closed = false;      ///< Nothing may follow.
  bool is_cut = false;         ///< Ended at the output limit.
  bool is_filtered = false;
  std::optional<llm_outcome> failure;  ///< Said inside the stream, or bytes that are not the wire's.
  std::string error;
};

/// How one try of a call ended.
struct try_result {
  llm_outcome outcome = llm_outcome::transport_failed;
  std::string text;
  std::string finish_reason;
  std::string response_id;
  token_usage usage;
  std::string error;
  std::uint32_t http_status = 0;
  bool is_permanent = false;  ///< A second try would fare no better, whatever the outcome's class.
};

}  // namespace regatta
