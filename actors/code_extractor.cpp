// SPDX-License-Identifier: Apache-2.0
#include "actors/code_extractor.hpp"

#include "actors/code_blocks.hpp"
#include "actors/utf8_check.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace regatta {

namespace {

/// What one `check_source` carries at most; the message allows no more texts.
constexpr std::size_t max_options = 64;
/// Blocks looked at. A reply with more is no honest answer; the best ones are kept. Judgement.
constexpr std::size_t max_blocks = 24;
/// Later fences tried for one block: three docstrings with a fenced example each.
constexpr std::size_t max_extensions = 6;
/// All texts together. `ast.parse` takes about 2 s for 1 MiB; a checker answers within 10 s.
constexpr std::size_t max_checked_bytes = 2 * MiB;

constexpr std::string_view utf8_bom = "\xEF\xBB\xBF";

/// What keeps an interpreter from reading the text at all; empty if nothing does.
std::string_view byte_complaint(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return "has NUL bytes";
  }
  return first_bad_utf8(text) == std::string_view::npos ? "" : "is not UTF-8";
}

std::string with_lf(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

bool is_empty(std::string_view code) {
  return code.find_first_not_of(" \t\n\f\v") == std::string_view::npos;
}

/// Turns blocks into options and keeps the books on what was left out.
class option_list {
public:
  option_list(const std::vector<std::string_view>& lines, std::vector<code_block> blocks)
      : lines_{lines}, fences_{bare_fences(lines)}, blocks_{std::move(blocks)} {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      order_.push_back(i);
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t x, std::size_t y) {
      return blocks_[x].rank != blocks_[y].rank ? blocks_[x].rank < blocks_[y].rank : x > y;
    });
    order_.resize(std::min(order_.size(), max_blocks));
    while (last_line_ > 0 && is_empty(lines_[last_line_ - 1])) {
      --last_line_;
    }
  }

  found_code take() {
    std::vector<std::vector<code_option>> by_block(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto& block = blocks_[order_[i]];
      add(by_block[i], block, block.first + block.count, 0, !block.is_closed && reaches_end(block));
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      extend(by_block[i], blocks_[order_[i]]);
    }
    for (auto& options : by_block) {
      std::move(options.begin(), options.end(), std::back_inserter(out_.options));
    }
    out_.blocks = static_cast<std::uint32_t>(blocks_.size());
    settle();
    return std::move(out_);
  }

private:
  bool reaches_end(const code_block& block) const { return block.first + block.count >= last_line_; }

  void extend(std::vector<code_option>& to, const code_block& block) {
    if (block.fence == 0 || block.rank == block_rank::other) {
      return;
    }
    const auto end = block.first + block.count;
    auto next = std::upper_bound(fences_.begin(), fences_.end(), end - (block.is_closed ? 0 : 1),
                                 [](std::size_t line, const bare_fence& x) { return line < x.line; });
    std::uint32_t passed = 0;
    for (; next != fences_.end() && passed < max_extensions; ++next) {
      if (next->fence == block.fence && next->length >= block.fence_length) {
        add(to, block, next->line, ++passed, false);
      }
    }
    // To the end only where a fence may be missing there: behind inner fences, or behind a list item that ended.
    const bool may_lack_fence = passed == 0 ? !block.is_closed : fences_.back().line + 1 < last_line_;
    if (next == fences_.end() && !reaches_end(block) && may_lack_fence) {
      add(to, block, lines_.size(), passed + 1, true);
    }
  }

  void add(std::vector<code_option>& to, const code_block& block, std::size_t end, std::uint32_t extended_by,
           bool is_unclosed) {
    if (total_ >= max_options) {
      return;
    }
    code_option option;
    option.text = extended_by == 0 ? block_text(lines_, block, block.first, end)
                                   : block_text(lines_, with_common_prefix(block, end), block.first, end);
    if (option.text.starts_with(utf8_bom)) {
      option.text.erase(0, utf8_bom.size());
    }
    option.block = static_cast<std::uint32_t>(&block - blocks_.data()) + 1;
    option.extended_by = extended_by;
    option.is_python = block.rank == block_rank::python || block.rank == block_rank::stray;
    option.is_unclosed = is_unclosed;
    option.tag = block.tag;
    if (is_usable(option, block.rank)) {
      ++total_;
      bytes_ += option.text.size();
      to.push_back(std::move(option));
    }
  }

  /// Code that fell out of its list item has less indentation than the fence: taking more off some lines than off
  /// others would break it.
  code_block with_common_prefix(code_block block, std::size_t end) const {
    for (auto i = block.first; i < end && block.prefix.find('>') == std::string::npos; ++i) {
      const auto indent = lines_[i].find_first_not_of(" \t");
      if (indent != std::string_view::npos) {
        block.prefix.resize(std::min(block.prefix.size(), indent));
      }
    }
    return block;
  }

  bool is_usable(const code_option& option, block_rank rank) {
    if (is_empty(option.text)) {
      return false;
    }
    const auto complaint = byte_complaint(option.text);
    if (!complaint.empty()) {
      drop(option, rank, extraction::bad_bytes, std::string{complaint});
      return false;
    }
    if (option.text.size() > candidate_bytes) {
      drop(option, rank, extraction::too_large,
           "has " + std::to_string(option.text.size()) + " bytes, allowed are " + std::to_string(candidate_bytes));
      return false;
    }
    return bytes_ + option.text.size() <= max_checked_bytes;
  }

  void drop(const code_option& option, block_rank rank, extraction why, const std::string& note) {
    if (option.extended_by == 0 && (!dropped_ || rank < *dropped_)) {
      dropped_ = rank;
      drop_reason_ = why;
      out_.note = "code block " + std::to_string(option.block) + " of " + std::to_string(blocks_.size()) + " " + note;
    }
  }

  /// A block that had to be dropped is never replaced by one of a lower rank: that would run a shell snippet in
  /// place of a program with one bad byte.
  void settle() {
    const auto best = out_.options.empty() ? block_rank::other : blocks_[out_.options.front().block - 1].rank;
    if (dropped_ && (out_.options.empty() || *dropped_ < best)) {
      out_.options.clear();
      out_.problem = drop_reason_;
    } else if (out_.options.empty()) {
      out_.problem = extraction::no_code;
      out_.note = "every code block is empty";
    }
  }

  const std::vector<std::string_view>& lines_;
  std::vector<bare_fence> fences_;
  std::vector<code_block> blocks_;
  std::vector<std::size_t> order_;         ///< Indices into blocks_, best first.
  std::size_t last_line_ = lines_.size();  ///< Behind the last line that is not blank.
  std::size_t total_ = 0;
  std::size_t bytes_ = 0;
  std::optional<block_rank> dropped_;
  extraction drop_reason_ = extraction::no_code;
  found_code out_;
};

found_code nothing(extraction problem, std::string note) {
  found_code out;
  out.problem = problem;
  out.note = std::move(note);
  return out;
}

found_code no_blocks(std::string_view reply, bool is_cut) {
  if (const auto complaint = byte_complaint(reply); !complaint.empty()) {
    return nothing(extraction::bad_bytes, "the reply " + std::string{complaint} + " and has no code block");
  }
  if (is_empty(reply)) {
    return nothing(extraction::no_code, "the reply is empty");
  }
  return nothing(extraction::no_code, is_cut ? "the reply was cut at its output limit before any code block began"
                                             : "the reply has no fenced code block");
}

}  // namespace

found_code find_code(std::string_view reply, bool is_cut) {
  if (reply.size() > reply_bytes) {
    return nothing(extraction::too_large, "the reply has " + std::to_string(reply.size()) + " bytes, allowed are " +
                                              std::to_string(reply_bytes));
  }
  if (reply.starts_with("\xFF\xFE") || reply.starts_with("\xFE\xFF")) {
    return nothing(extraction::bad_bytes, "the reply is UTF-16, not UTF-8");
  }
  reply.remove_prefix(reply.starts_with(utf8_bom) ? utf8_bom.size() : 0);
  const auto text = with_lf(reply);
  const auto lines = split_lines(text);
  auto blocks = code_blocks(lines);
  if (blocks.empty()) {
    return no_blocks(text, is_cut);
  }
  return option_list{lines, std::move(blocks)}.take();
}

}  // namespace regatta
