// SPDX-License-Identifier: Apache-2.0
#include "sandbox/classify.hpp"

#include "sandbox/word_characters.hpp"

#include <algorithm>

namespace regatta::sandbox {

namespace {

constexpr std::string_view pass_word = "PASS";
constexpr std::string_view sentinel = "ALL_TESTS_PASSED";
constexpr char32_t replacement = 0xFFFD;

}  // namespace

bool is_word_character(char32_t x) {
  if (x < 0x80) {
    return (x >= U'a' && x <= U'z') || (x >= U'A' && x <= U'Z') || (x >= U'0' && x <= U'9') || x == U'_';
  }
  const auto* end = word_ranges + word_range_count;
  const auto* found = std::upper_bound(word_ranges, end, x,
                                       [](char32_t value, const word_range& range) { return value < range.first; });
  return found != word_ranges && x <= (found - 1)->last;
}

void claim_matcher::feed(std::string_view bytes) {
  for (const char byte : bytes) {
    const auto x = static_cast<unsigned char>(byte);
    if (missing_ > 0 && (x & 0xC0) == 0x80) {
      partial_ = (partial_ << 6) | (x & 0x3FU);
      if (--missing_ == 0) {
        on_code_point(partial_ < least_ || partial_ > 0x10FFFF || (partial_ & ~0x7FFU) == 0xD800 ? replacement
                                                                                                 : partial_);
      }
      continue;
    }
    if (missing_ > 0) {
      missing_ = 0;
      on_code_point(replacement);
    }
    if (x < 0x80) {
      on_code_point(x);
    } else if (x >= 0xC2 && x <= 0xF4) {
      missing_ = x < 0xE0 ? 1 : x < 0xF0 ? 2 : 3;
      partial_ = x & (0x3FU >> missing_);
      least_ = missing_ == 1 ? 0x80 : missing_ == 2 ? 0x800 : 0x10000;
    } else {
      on_code_point(replacement);
    }
  }
}

void claim_matcher::on_code_point(char32_t x) {
  match_pass(x);
  match_sentinel(x);
  after_word_ = is_word_character(x);
}

void claim_matcher::match_pass(char32_t x) {
  if (pass_ == pass_word.size()) {
    has_pass_ = has_pass_ || !is_word_character(x);
    pass_ = 0;
  }
  // No second chance inside a failed match: PASS has no border at which it could start again.
  const bool fits = x == static_cast<char32_t>(pass_word[pass_]) && (pass_ > 0 || !after_word_);
  pass_ = fits ? pass_ + 1 : 0;
}

void claim_matcher::match_sentinel(char32_t x) {
  // Its second A may be the first one of the real thing: ALL_TESTS_PALL_TESTS_PASSED.
  constexpr std::size_t behind_second_a = 12;
  if (has_sentinel_) {
    return;
  }
  if (x == static_cast<char32_t>(sentinel[sentinel_])) {
    has_sentinel_ = ++sentinel_ == sentinel.size();
  } else if (sentinel_ == behind_second_a && x == U'L') {
    sentinel_ = 2;
  } else {
    sentinel_ = x == U'A' ? 1 : 0;
  }
}

claim claim_matcher::finish() {
  if (missing_ > 0) {
    missing_ = 0;
    on_code_point(replacement);
  }
  has_pass_ = has_pass_ || pass_ == pass_word.size();
  return has_pass_ ? claim::run_tests : has_sentinel_ ? claim::sentinel : claim::none;
}

}  // namespace regatta::sandbox
