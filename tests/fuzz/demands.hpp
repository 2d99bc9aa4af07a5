// SPDX-License-Identifier: Apache-2.0
/// \file
/// What fuzz targets have in common: demands that end the process, and an independent idea of well-formed text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace regatta::fuzz {

/// `what` stands above the back-trace.
inline void demand(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "demand failed: %s\n", what);
    std::abort();
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Calls `visit(code point)` for each character; false at the first ill-formed byte. By decoding, then comparing the
/// length with the shortest possible: another way than that of the functions under test.
template <class Visit>
bool each_character(std::string_view text, Visit visit) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    const std::size_t length = lead < 0x80         ? 1
                               : (lead >> 5) == 6  ? 2
                               : (lead >> 4) == 14 ? 3
                               : (lead >> 3) == 30 ? 4
                                                   : 0;
    if (length == 0 || i + length > text.size()) {
      return false;
    }
    char32_t code = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<std::uint8_t>(text[i + k]);
      if ((next >> 6) != 2) {
        return false;
      }
      code = (code << 6) | (next & 0x3FU);
    }
    const std::size_t shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (shortest != length || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return false;
    }
    visit(code);
    i += length;
  }
  return true;
}

inline bool is_utf8(std::string_view text) {
  return each_character(text, [](char32_t) {});
}

/// Hands `text` to `take` in pieces of so many bytes; 0: in one.
template <class Take>
void in_pieces(std::string_view text, std::size_t size, Take take) {
  const auto step = size == 0 ? text.size() + 1 : size;
  for (std::size_t at = 0; at < text.size(); at += step) {
    take(text.substr(at, step));
  }
}

}  // namespace regatta::fuzz
