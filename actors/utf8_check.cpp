// SPDX-License-Identifier: Apache-2.0
#include "actors/utf8_check.hpp"

namespace regatta {

namespace {

/// Length of the UTF-8 character at the begin of `text`; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  const auto lowest = first == 0xE0 ? 0xA0U : first == 0xF0 ? 0x90U : 0x80U;
  const auto highest = first == 0xED ? 0x9FU : first == 0xF4 ? 0x8FU : 0xBFU;
  if (first < 0xC2 || first > 0xF4 || byte(1) < lowest || byte(1) > highest) {
    return 0;
  }
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  return length;
}

}  // namespace

std::size_t first_bad_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto length = character_length(text.substr(at));
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace regatta
