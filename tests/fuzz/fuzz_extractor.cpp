// SPDX-License-Identifier: Apache-2.0
// A model's reply: which text in it is the candidate. The interpreter's facts are made up from the text's length.
#include "actors/code_extractor.hpp"
#include "messages/limits.hpp"
#include "tests/fuzz/demands.hpp"

#include <string>
#include <vector>

using namespace regatta;
using fuzz::demand;

namespace {

constexpr std::size_t most_texts = 64;
constexpr std::size_t most_bytes = 2 * MiB;

bool is_source(std::string_view text) {
  return fuzz::is_utf8(text) && text.find('\0') == std::string_view::npos && text.size() <= candidate_bytes;
}

void check_found(const found_code& found) {
  demand(found.options.size() <= most_texts, "no more texts than one question carries");
  demand(found.options.empty() == (found.problem != extraction::found), "a problem is named if nothing is found");
  std::size_t total = 0;
  for (const auto& x : found.options) {
    demand(!x.text.empty() && is_source(x.text), "a text is something that an interpreter reads");
    demand(x.block >= 1 && x.block <= found.blocks, "blocks count from 1");
    total += x.text.size();
  }
  demand(total <= most_bytes, "the texts together are bounded");
}

void check_choice(const found_code& found, bool is_cut, unsigned salt) {
  std::vector<source_facts> facts(found.options.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    facts[i].parses = (found.options[i].text.size() + salt + i) % 3 != 0;
    if ((found.options[i].text.size() + salt) % 2 == 0) {
      facts[i].definitions = {"kernel_function", "Model"};
    }
  }
  const auto chosen = choose_code(found, facts, {"kernel_function"}, is_cut);
  demand((chosen.result == extraction::found) != chosen.code.empty(), "code comes with `found` and only with it");
  demand(is_source(chosen.code), "the choice is something that an interpreter reads");
  demand(chosen.code.find('\r') == std::string::npos, "its lines end with LF");
  demand(fuzz::is_utf8(chosen.note), "the note is UTF-8");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reply = fuzz::text_of(data, size);
  for (const bool is_cut : {false, true}) {
    const auto found = find_code(reply, is_cut);
    check_found(found);
    for (const unsigned salt : {0U, 1U, 2U}) {
      check_choice(found, is_cut, salt);
    }
  }
  return 0;
}
