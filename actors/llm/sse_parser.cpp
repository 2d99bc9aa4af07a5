// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/sse_parser.hpp"

#include <utility>

namespace regatta {

namespace {
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
}  // namespace

std::vector<sse_event> sse_parser::feed(std::string_view bytes) {
  std::vector<sse_event> out;
  while (!bytes.empty() && !is_overflown_) {
    if (ended_by_cr_ && bytes[0] == '\n') {
      bytes.remove_prefix(1);
    }
    ended_by_cr_ = false;
    const auto end = bytes.find_first_of("\r\n");
    const auto piece = bytes.substr(0, end);
    if (line_.size() + piece.size() + event_.data.size() > event_limit_) {
      is_overflown_ = true;
      line_.clear();
      event_ = {};
      break;
    }
    line_ += piece;
    if (end == std::string_view::npos) {
      break;
    }
    ended_by_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    take_line(std::exchange(line_, {}), out);
  }
  return out;
}

std::vector<sse_event> sse_parser::finish() {
  std::vector<sse_event> out;
  if (!is_overflown_) {
    take_line(std::exchange(line_, {}), out);
    dispatch(out);
  }
  return out;
}

void sse_parser::take_line(std::string_view line, std::vector<sse_event>& out) {
  if (std::exchange(is_first_line_, false) && line.starts_with(byte_order_mark)) {
    line.remove_prefix(byte_order_mark.size());
  }
  if (line.empty()) {
    return dispatch(out);
  }
  const auto colon = line.find(':');
  const auto field = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  value.remove_prefix(value.starts_with(' ') ? 1 : 0);
  if (field == "data") {
    event_.data += has_data_ ? "\n" : "";
    event_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    event_.name = value;
  }
}

void sse_parser::dispatch(std::vector<sse_event>& out) {
  auto event = std::exchange(event_, {});
  if (std::exchange(has_data_, false)) {
    out.push_back(std::move(event));
  }
}

}  // namespace regatta
