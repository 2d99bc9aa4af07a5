// SPDX-License-Identifier: Apache-2.0
// Output of a candidate: what it claims, and what a terminal, a prompt or a record may see of it.
#include "actors/llm/utf8_text.hpp"
#include "cli/terminal_text.hpp"
#include "node/clean_text.hpp"
#include "sandbox/classify.hpp"
#include "tests/fuzz/demands.hpp"

#include <string>

using namespace regatta;
using fuzz::demand;

namespace {

bool is_control(char32_t x) {
  return (x < 0x20 && x != '\n' && x != '\t') || (x >= 0x7F && x <= 0x9F);
}

void check_terminal(std::string_view bytes) {
  const auto clean = cli::clean_text(bytes);
  const bool is_good = fuzz::each_character(clean, [](char32_t x) {
    demand(!is_control(x), "a terminal sees no control characters");
    demand(!(x >= 0x202A && x <= 0x202E) && !(x >= 0x2066 && x <= 0x2069), "nor marks that turn the text");
  });
  demand(is_good, "a terminal sees UTF-8");
  demand(cli::clean_text(clean) == clean, "clean text stays as it is");
  const auto line = cli::clean_line(bytes);
  demand(line.find_first_of("\n\r\t") == std::string::npos, "a line is one line");
  const auto width = cli::columns_of(line);
  for (const std::size_t columns : {0U, 1U, 2U, 9U}) {
    const auto cut = cli::cut_to(line, columns);
    demand(fuzz::is_utf8(cut) && cli::columns_of(cut) <= columns, "a cut line fits");
    demand(width > columns || cut == line, "a line that fits is not cut");
    demand(cli::columns_of(cli::fit_to(line, columns)) == columns, "a filled line fits exactly");
  }
}

void check_repair(std::string_view bytes) {
  const auto good = repair_utf8(bytes);
  demand(fuzz::is_utf8(good), "repaired text is UTF-8");
  demand(!fuzz::is_utf8(bytes) || good == bytes, "good text is not touched");
  const auto whole = whole_characters(bytes);
  demand(whole <= bytes.size() && bytes.size() - whole <= 3, "at most one character is held back");
  demand(fuzz::is_utf8(good) && whole_characters(good) == good.size(), "good text is whole");
  for (const std::size_t size : {0U, 1U, 5U, 100U}) {
    const auto tail = text_tail(good, size);
    demand(tail.size() <= size && fuzz::is_utf8(tail) && good.ends_with(tail), "a tail begins at a character");
  }
  // A stream cut anywhere, mended piece by piece, is the stream mended at once.
  std::string out;
  std::string rest;
  for (const char x : bytes) {
    rest += x;
    const auto ready = whole_characters(rest);
    out += repair_utf8(std::string_view{rest}.substr(0, ready));
    rest.erase(0, ready);
  }
  demand(out + repair_utf8(rest) == good, "how a stream is cut does not matter");
}

void check_record(std::string_view bytes) {
  const auto clean = clean_text(bytes);
  demand(fuzz::is_utf8(clean), "a record is UTF-8");
  demand(clean_text(clean) == clean, "and stays as it is");
}

/// The rule as KernelAgent has it, over the whole text at once.
claim wanted_claim(std::string_view bytes) {
  std::u32string text;
  fuzz::each_character(bytes, [&](char32_t x) { text += x; });
  const auto is_word = [&](std::size_t i) { return i < text.size() && sandbox::is_word_character(text[i]); };
  for (auto at = text.find(U"PASS"); at != std::u32string::npos; at = text.find(U"PASS", at + 1)) {
    if ((at == 0 || !is_word(at - 1)) && !is_word(at + 4)) {
      return claim::run_tests;
    }
  }
  return text.find(U"ALL_TESTS_PASSED") != std::u32string::npos ? claim::sentinel : claim::none;
}

claim claim_of(std::string_view bytes, std::size_t piece) {
  sandbox::claim_matcher matcher;
  fuzz::in_pieces(bytes, piece, [&](std::string_view x) { matcher.feed(x); });
  return matcher.finish();
}

void check_claim(std::string_view bytes) {
  const auto whole = claim_of(bytes, 0);
  for (const std::size_t piece : {1U, 3U}) {
    demand(claim_of(bytes, piece) == whole, "a claim does not depend on how the bytes are cut");
  }
  demand(claim_of(repair_utf8(bytes), 0) == whole, "bytes that are no characters count as U+FFFD");
  demand(!fuzz::is_utf8(bytes) || whole == wanted_claim(bytes), "a claim is what the rule says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::text_of(data, size);
  check_terminal(bytes);
  check_repair(bytes);
  check_record(bytes);
  check_claim(bytes);
  return 0;
}
