// SPDX-License-Identifier: Apache-2.0
// The second half of the extractor: which of the texts found is the candidate, and what to tell the model if none is.
#include "actors/code_extractor.hpp"
#include "messages/digest.hpp"

#include <algorithm>

namespace regatta {

namespace {

/// Of the interpreter's own error text; it quotes the candidate.
constexpr std::size_t error_bytes = 500;
/// Names listed in a note.
constexpr std::size_t listed_names = 20;

/// One option with what the interpreter said of it.
struct checked {
  const code_option* option = nullptr;
  const source_facts* facts = nullptr;
};

std::vector<std::string> missing_names(const source_facts& facts, const std::vector<std::string>& must_define) {
  std::vector<std::string> out;
  for (const auto& name : must_define) {
    if (std::find(facts.definitions.begin(), facts.definitions.end(), name) == facts.definitions.end()) {
      out.push_back(name);
    }
  }
  return out;
}

/// At most `bytes` of `text`, whole characters.
std::string cut(const std::string& text, std::size_t bytes) {
  auto end = std::min(text.size(), bytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), listed_names); ++i) {
    out += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > listed_names ? out + " …" : out;
}

/// Tagged as something that is not Python: a shell snippet, output, JSON.
bool is_foreign(const code_option& x) {
  return !x.is_python && !x.tag.empty();
}

int rank_of(const code_option& x) {
  return x.is_python ? 0 : x.tag.empty() ? 1 : 2;
}

/// Options of one block stand together.
std::vector<std::vector<checked>> by_block(const found_code& found, const std::vector<source_facts>& facts) {
  std::vector<std::vector<checked>> out;
  for (std::size_t i = 0; i < std::min(found.options.size(), facts.size()); ++i) {
    if (out.empty() || out.back().front().option->block != found.options[i].block) {
      out.emplace_back();
    }
    out.back().push_back({&found.options[i], &facts[i]});
  }
  return out;
}

class chooser {
public:
  chooser(const found_code& found, const std::vector<source_facts>& facts, const std::vector<std::string>& must_define,
          bool is_cut)
      : blocks_{by_block(found, facts)}, count_{found.blocks}, must_define_{must_define}, is_cut_{is_cut} {}

  chosen_code choose() const {
    for (const auto& block : blocks_) {
      for (const auto& x : block) {
        if (is_acceptable(x)) {
          return {extraction::found, canonical_source(x.option->text), found_note(x)};
        }
      }
    }
    return blocks_.empty() ? chosen_code{extraction::no_code, {}, "no code block was checked"} : explain();
  }

private:
  bool is_acceptable(const checked& x) const {
    const bool is_whole = !(x.option->is_unclosed && is_cut_);
    // With nothing to look for, any one-word shell line would pass for Python.
    const bool is_meant = !is_foreign(*x.option) || !must_define_.empty();
    return is_whole && is_meant && x.facts->parses && missing_names(*x.facts, must_define_).empty();
  }

  std::string place(const checked& x) const {
    return "code block " + std::to_string(x.option->block) + " of " + std::to_string(count_);
  }

  std::string found_note(const checked& x) const {
    return place(x) +
           (x.option->extended_by == 0
                ? ""
                : ", read past " + std::to_string(x.option->extended_by) + " fence(s) inside it") +
           (x.option->is_unclosed ? ", never closed" : "");
  }

  bool is_truncated(const std::vector<checked>& block) const {
    const auto ends_in_it = [](const checked& x) { return x.option->is_unclosed; };
    const auto& own = block.front();
    return is_cut_ && !is_foreign(*own.option) && std::any_of(block.begin(), block.end(), ends_in_it) &&
           (own.option->is_unclosed || !own.facts->parses);
  }

  /// The longest block of the best rank is the one that was meant as the program.
  const std::vector<checked>& meant() const {
    const auto is_less = [](const auto& x, const auto& y) {
      const auto& a = *x.front().option;
      const auto& b = *y.front().option;
      return rank_of(a) != rank_of(b) ? rank_of(a) > rank_of(b) : a.text.size() < b.text.size();
    };
    return *std::max_element(blocks_.begin(), blocks_.end(), is_less);
  }

  chosen_code explain() const {
    for (const auto& block : blocks_) {
      if (is_truncated(block)) {
        return {extraction::truncated, {}, "the reply was cut at its output limit inside " + place(block.front())};
      }
    }
    const auto& block = meant();
    const auto& own = block.front();
    if (is_foreign(*own.option)) {
      return {extraction::no_code, {}, "no Python block; " + place(own) + " is tagged " + own.option->tag};
    }
    for (const auto& x : block) {
      if (x.facts->parses) {
        return {extraction::no_entry_point, {}, lacks(x)};
      }
    }
    return {extraction::syntax_error, {}, place(own) + " does not parse: " + cut(own.facts->error, error_bytes)};
  }

  std::string lacks(const checked& x) const {
    const auto has = joined(x.facts->definitions);
    return place(x) + " does not define " + joined(missing_names(*x.facts, must_define_)) +
           " at top level; it defines " + (has.empty() ? "nothing" : has);
  }

  std::vector<std::vector<checked>> blocks_;
  std::uint32_t count_;
  const std::vector<std::string>& must_define_;
  bool is_cut_;
};

}  // namespace

chosen_code choose_code(const found_code& found, const std::vector<source_facts>& facts,
                        const std::vector<std::string>& must_define, bool is_cut) {
  if (found.problem != extraction::found) {
    return {found.problem, {}, found.note};
  }
  return chooser{found, facts, must_define, is_cut}.choose();
}

}  // namespace regatta
