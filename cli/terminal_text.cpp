// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace regatta::cli {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct character {
  char32_t code = 0;
  std::size_t length = 1;
  bool is_good = false;
};

/// The character at `at`; bad bytes come one at a time with `is_good` false.
character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : std::uint8_t{0};
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return {lead, 1, true};
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) {
    return {};
  }
  char32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return {};
    }
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return {code, length, code >= least[length] && code <= 0x10FFFF && !is_surrogate};
}

/// Bytes of the escape sequence that begins at `at` (where ESC stands).
std::size_t escape_length(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size()) {
    return 1;
  }
  const char kind = text[at + 1];
  if (kind == '[') {
    std::size_t end = at + 2;
    while (end < text.size() && text[end] >= 0x20 && text[end] <= 0x3F) {
      ++end;
    }
    return end < text.size() && text[end] >= 0x40 ? end + 1 - at : 2;
  }
  const bool is_string = kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_';
  if (!is_string) {
    return 2;
  }
  // A title longer than this is not one; then only its head goes, so that no text can hide behind it.
  const auto window = text.substr(at, 4096);
  const auto bell = window.find('\a');
  const auto stop = window.find("\x1B\\", 1);
  const auto end =
      std::min(bell == std::string_view::npos ? bell : bell + 1, stop == std::string_view::npos ? stop : stop + 2);
  return end == std::string_view::npos ? 2 : end;
}

bool is_dropped(char32_t c) {
  const bool is_control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c <= 0x9F);
  const bool turns =
      c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return is_control || turns;
}

struct code_range {
  char32_t first;
  char32_t last;
};

bool is_in(char32_t c, const code_range* ranges, std::size_t count) {
  return std::any_of(ranges, ranges + count, [&](const auto& x) { return c >= x.first && c <= x.last; });
}

/// Coarse, by Unicode blocks: a wrong guess costs a column, not more.
std::size_t width_of(char32_t c) {
  static constexpr std::array<code_range, 7> none = {{{0x300, 0x36F},
                                                      {0x483, 0x489},
                                                      {0x591, 0x5BD},
                                                      {0x64B, 0x65F},
                                                      {0x200B, 0x200D},
                                                      {0x20D0, 0x20FF},
                                                      {0xFE00, 0xFE0F}}};
  static constexpr std::array<code_range, 9> wide = {{{0x1100, 0x115F},
                                                      {0x2E80, 0x303E},
                                                      {0x3041, 0xA4CF},
                                                      {0xAC00, 0xD7A3},
                                                      {0xF900, 0xFAFF},
                                                      {0xFE30, 0xFE6F},
                                                      {0xFF00, 0xFF60},
                                                      {0x1F300, 0x1FAFF},
                                                      {0x20000, 0x3FFFD}}};
  if (is_in(c, none.data(), none.size())) {
    return 0;
  }
  return is_in(c, wide.data(), wide.size()) ? 2 : 1;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\x1B') {
      at += escape_length(text, at);
      continue;
    }
    const auto next = character_at(text, at);
    if (!next.is_good) {
      out += replacement;
      ++at;
      continue;
    }
    if (!is_dropped(next.code)) {
      out += text.substr(at, next.length);
    }
    at += next.length;
  }
  return out;
}

std::string clean_line(std::string_view text) {
  std::string out;
  for (const char c : clean_text(text)) {
    const bool is_blank = c == '\n' || c == '\t' || c == ' ';
    if (!is_blank) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) {
    out.pop_back();
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto next = character_at(text, at);
    columns += next.is_good ? width_of(next.code) : 1;
    at += next.length;
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) {
    return std::string{text};
  }
  if (columns == 0) {
    return {};
  }
  std::size_t taken = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto next = character_at(text, at);
    const auto width = next.is_good ? width_of(next.code) : 1;
    if (taken + width > columns - 1) {
      break;
    }
    taken += width;
    at += next.length;
  }
  return std::string{text.substr(0, at)} + "…";
}

std::string fit_to(std::string_view text, std::size_t columns) {
  auto out = cut_to(text, columns);
  out.append(columns - columns_of(out), ' ');
  return out;
}

std::string plural(std::uint64_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

}  // namespace regatta::cli
