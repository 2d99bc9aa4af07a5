// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/utf8_text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace regatta {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";
/// Enough for any provider's own words. Judgement.
constexpr std::size_t error_text_bytes = 2'000;
/// A shorter "secret" would blank out ordinary words; no provider issues such keys.
constexpr std::size_t shortest_secret = 6;

struct lead {
  std::size_t length = 0;   ///< 0: cannot begin a character.
  std::uint8_t low = 0x80;  ///< Allowed range of the second byte (Unicode 15, table 3-7).
  std::uint8_t high = 0xBF;
};

lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) {
    return {1};
  }
  if (byte >= 0xC2 && byte <= 0xDF) {
    return {2};
  }
  if (byte >= 0xE0 && byte <= 0xEF) {
    return {3, static_cast<std::uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<std::uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    return {4, static_cast<std::uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<std::uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {};
}

struct character {
  std::size_t good = 0;  ///< Well-formed bytes from here; at least one is consumed even if none is good.
  std::size_t wanted = 0;
};

character read_character(std::string_view rest) {
  const auto first = lead_of(static_cast<std::uint8_t>(rest[0]));
  if (first.length == 0) {
    return {0, 1};
  }
  std::size_t good = 1;
  for (; good < first.length && good < rest.size(); ++good) {
    const auto byte = static_cast<std::uint8_t>(rest[good]);
    const auto low = good == 1 ? first.low : std::uint8_t{0x80};
    const auto high = good == 1 ? first.high : std::uint8_t{0xBF};
    if (byte < low || byte > high) {
      break;
    }
  }
  return {good, first.length};
}

/// Length of the longest end of `text` that is a beginning of `secret`, but not all of it.
std::size_t begun_at_end(std::string_view text, std::string_view secret) {
  auto length = std::min(text.size(), secret.size() - 1);
  while (!text.ends_with(secret.substr(0, length))) {
    --length;
  }
  return length;
}

}  // namespace

std::string repair_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto next = read_character(bytes);
    const auto used = std::max<std::size_t>(next.good, 1);
    out += next.good == next.wanted ? bytes.substr(0, used) : replacement;
    bytes.remove_prefix(used);
  }
  return out;
}

std::size_t whole_characters(std::string_view bytes) {
  // A character has four bytes at most, so an unfinished one begins in the last three.
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const auto start = bytes.size() - back;
    const auto next = read_character(bytes.substr(start));
    if (next.good == back && next.wanted > back) {
      return start;
    }
  }
  return bytes.size();
}

std::string_view text_tail(std::string_view text, std::size_t size) {
  if (text.size() <= size) {
    return text;
  }
  text.remove_prefix(text.size() - size);
  while (!text.empty() && (static_cast<std::uint8_t>(text[0]) & 0xC0U) == 0x80U) {
    text.remove_prefix(1);
  }
  return text;
}

bool has_readable(std::string_view text) {
  // U+00A0, U+200B to U+200F, U+2028, U+2029, U+2060, U+3000, U+FEFF, U+FFFD.
  static constexpr std::string_view unseen[] = {"\xC2\xA0",     "\xE2\x80\x8B", "\xE2\x80\x8C", "\xE2\x80\x8D",
                                                "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xA8", "\xE2\x80\xA9",
                                                "\xE2\x81\xA0", "\xE3\x80\x80", "\xEF\xBB\xBF", replacement};
  while (!text.empty()) {
    const auto byte = static_cast<std::uint8_t>(text.front());
    if (byte <= 0x20 || byte == 0x7F) {
      text.remove_prefix(1);
      continue;
    }
    const auto* const found =
        std::find_if(std::begin(unseen), std::end(unseen), [&](auto mark) { return text.starts_with(mark); });
    if (found == std::end(unseen)) {
      return true;
    }
    text.remove_prefix(found->size());
  }
  return false;
}

std::string without_secret(std::string_view text, std::string_view secret) {
  constexpr std::string_view mark = "[redacted]";
  if (secret.size() < shortest_secret) {
    return std::string{text};
  }
  std::string out;
  for (auto at = text.find(secret); at != std::string_view::npos; at = text.find(secret)) {
    out += text.substr(0, at);
    out += mark;
    text.remove_prefix(at + secret.size());
  }
  const auto begun = begun_at_end(text, secret);
  const bool is_cut = begun >= std::max(shortest_secret, (secret.size() + 1) / 2);
  out += text.substr(0, text.size() - (is_cut ? begun : 0));
  out += is_cut ? mark : "";
  return out;
}

std::size_t before_secret(std::string_view text, std::string_view secret) {
  if (secret.size() < shortest_secret) {
    return text.size();
  }
  auto rest = text;
  for (auto at = rest.find(secret); at != std::string_view::npos; at = rest.find(secret)) {
    rest.remove_prefix(at + secret.size());
  }
  return text.size() - begun_at_end(rest, secret);
}

std::string presentable(std::string_view text, std::string_view secret) {
  auto out = repair_utf8(std::string_view{without_secret(text, secret)}.substr(0, error_text_bytes));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F; }, ' ');
  return out;
}

}  // namespace regatta
