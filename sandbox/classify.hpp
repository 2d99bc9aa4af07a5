// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a candidate's stdout claims, by KernelAgent's rule: the word PASS first, then the sentinel, on the whole
/// stream. The word is Python's `\bPASS\b` on text, so its borders are Unicode's: `✅PASS` matches, `éPASS` does not.
#pragma once

#include "messages/outcome.hpp"

#include <cstddef>
#include <string_view>

namespace regatta::sandbox {

/// Fed with the stream in pieces of any size. Bytes that are not UTF-8 count as U+FFFD, which is no word character.
class claim_matcher {
public:
  void feed(std::string_view bytes);

  /// What was printed until now, whatever the exit status. Nothing may be fed after.
  claim finish();

private:
  void on_code_point(char32_t x);
  void match_pass(char32_t x);
  void match_sentinel(char32_t x);

  // An unfinished UTF-8 sequence.
  char32_t partial_ = 0;
  int missing_ = 0;
  char32_t least_ = 0;

  bool after_word_ = false;   ///< The code point before the current one is a word character.
  std::size_t pass_ = 0;      ///< Letters of PASS seen, 4 = waiting for the border behind it.
  std::size_t sentinel_ = 0;  ///< Letters of the sentinel seen.
  bool has_pass_ = false;
  bool has_sentinel_ = false;
};

/// Python's `\w` on str: letters, marks that Python counts as alphanumeric, numbers, underscore.
bool is_word_character(char32_t x);

}  // namespace regatta::sandbox
