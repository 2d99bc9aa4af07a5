// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/ending.hpp"

namespace regatta::judge {

namespace {

bool continues_character(char x) {
  return (static_cast<unsigned char>(x) & 0xC0U) == 0x80;
}

/// The input is UTF-8 (it was JSON), so C1 controls are C2 80 … C2 9F.
bool is_control_at(std::string_view text, std::size_t at, std::size_t& length) {
  const auto byte = static_cast<unsigned char>(text[at]);
  length = 1;
  if (byte < 0x20 || byte == 0x7F) {
    return true;
  }
  length = byte == 0xC2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0 ? 2 : 1;
  return length == 2;
}

/// Characters that turn the text on a terminal: U+202A … U+202E, U+2066 … U+2069.
bool turns_text(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("\xE2\x80") && !text.substr(at).starts_with("\xE2\x81")) {
    return false;
  }
  const auto last = at + 2 < text.size() ? static_cast<unsigned char>(text[at + 2]) : 0U;
  return text[at + 1] == '\x80' ? last >= 0xAA && last <= 0xAE : last >= 0xA6 && last <= 0xA9;
}

}  // namespace

std::string plain_text(std::string_view text, std::size_t most) {
  constexpr std::string_view cut = "…\n";
  bool is_cut = false;
  if (text.size() > most) {
    is_cut = true;
    text.remove_prefix(text.size() - (most > cut.size() ? most - cut.size() : 0));
    while (!text.empty() && continues_character(text.front())) {
      text.remove_prefix(1);
    }
  }
  std::string out{is_cut && most > cut.size() ? cut : std::string_view{}};
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    if (text[at] == '\n' || text[at] == '\t' || !is_control_at(text, at, length)) {
      if (turns_text(text, at)) {
        at += 3;
        continue;
      }
      out += text[at++];
      continue;
    }
    out += '?';
    at += length;
  }
  return out;
}

std::string plain_line(std::string_view text, std::size_t most) {
  auto out = plain_text(text.substr(0, text.find('\n')), most);
  for (char& x : out) {
    x = x == '\n' || x == '\t' ? ' ' : x;
  }
  return out;
}

}  // namespace regatta::judge
