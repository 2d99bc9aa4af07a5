// SPDX-License-Identifier: Apache-2.0
/// \file
/// Server-sent events from bytes in any pieces (WHATWG HTML, "Event stream interpretation"). Pure.
#pragma once

#include "messages/limits.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace regatta {

struct sse_event {
  std::string name;  ///< Of the `event:` line; empty without one.
  std::string data;  ///< `data:` lines joined by LF; bytes as they came.
  bool operator==(const sse_event&) const = default;
};

class sse_parser {
public:
  /// The largest honest event repeats a whole reply in JSON, where a line end takes two bytes and a character
  /// outside ASCII six.
  static constexpr std::size_t max_event_bytes = 4 * reply_bytes;

  explicit sse_parser(std::size_t event_limit = max_event_bytes) : event_limit_{event_limit} {}

  /// The events that these bytes complete. An event counts once its empty line has come.
  std::vector<sse_event> feed(std::string_view bytes);
  /// At the end of the stream: an event without its empty line, which some servers leave out after the last one.
  std::vector<sse_event> finish();
  /// A line or event was larger than the limit; nothing is read from then on.
  bool is_overflown() const { return is_overflown_; }

private:
  void take_line(std::string_view line, std::vector<sse_event>& out);
  void dispatch(std::vector<sse_event>& out);

  std::size_t event_limit_;
  std::string line_;
  sse_event event_;
  bool has_data_ = false;
  bool is_first_line_ = true;
  bool ended_by_cr_ = false;
  bool is_overflown_ = false;
};

}  // namespace regatta
