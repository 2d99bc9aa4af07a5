// SPDX-License-Identifier: Apache-2.0
#include "node/clean_text.hpp"

#include <cstddef>

namespace regatta {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

unsigned byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
}

bool is_between(unsigned x, unsigned low, unsigned high) {
  return low <= x && x <= high;
}

struct sequence {
  std::size_t size = 1;
  bool is_valid = false;
};

/// Unicode 15, table 3-7: which bytes may follow which. The second byte's range excludes overlong forms, surrogates
/// and what lies above U+10FFFF. An invalid sequence ends before the first byte that cannot belong to it.
sequence sequence_at(std::string_view bytes) {
  const unsigned lead = byte_at(bytes, 0);
  if (lead < 0x80) {
    return {1, lead != 0};
  }
  const std::size_t size = is_between(lead, 0xC2, 0xDF) ? 2 : is_between(lead, 0xE0, 0xEF) ? 3 : 4;
  if (!is_between(lead, 0xC2, 0xF4)) {
    return {1, false};
  }
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (!is_between(byte_at(bytes, 1), low, high)) {
    return {1, false};
  }
  for (std::size_t i = 2; i < size; ++i) {
    if (!is_between(byte_at(bytes, i), 0x80, 0xBF)) {
      return {i, false};
    }
  }
  return {size, true};
}

}  // namespace

std::string clean_text(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto next = sequence_at(bytes);
    result.append(next.is_valid ? bytes.substr(0, next.size) : replacement);
    bytes.remove_prefix(next.size);
  }
  return result;
}

}  // namespace regatta
