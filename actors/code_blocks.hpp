// SPDX-License-Identifier: Apache-2.0
/// \file
/// CODE BLOCKS of a reply: where CommonMark sees code, as line numbers into the reply, so that a block can be read
/// further than CommonMark ends it. Time and memory grow with the length of the reply, not with its square.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// In order of preference.
enum class block_rank : std::uint8_t {
  python,    ///< A fence tagged python, py, python3 …
  untagged,  ///< A fence without info string.
  indented,  ///< Code by four columns of indentation.
  stray,     ///< A python-tagged fence that CommonMark takes for text: inside raw HTML or indented too far.
  other,     ///< A fence with another tag.
};

struct code_block {
  std::size_t first = 0;   ///< Index of its first line of code.
  std::size_t count = 0;   ///< Lines of code.
  std::size_t opened = 0;  ///< Index of the line with the opening fence; `first` if indented.
  char fence = 0;          ///< '`', '~'; 0 if indented.
  std::size_t fence_length = 0;
  std::string prefix;  ///< What stands before the fence (list indentation, `> `); taken off each line.
  std::string tag;     ///< First word of the info string, lower case, at most 32 bytes.
  block_rank rank = block_rank::other;
  bool is_closed = false;  ///< A fence ends it, or it is indented.
};

/// Lines without their ends. `text` has LF line ends only and outlives the result.
std::vector<std::string_view> split_lines(std::string_view text);

/// In the order of the reply, stray ones after all others.
std::vector<code_block> code_blocks(const std::vector<std::string_view>& lines);

/// A line that could end a fenced block: nothing but a run of one fence character.
struct bare_fence {
  std::size_t line = 0;
  char fence = 0;
  std::size_t length = 0;
};
std::vector<bare_fence> bare_fences(const std::vector<std::string_view>& lines);

/// Lines [from, to) with the block's prefix taken off, each ended by LF.
std::string block_text(const std::vector<std::string_view>& lines, const code_block& block, std::size_t from,
                       std::size_t to);

/// True for python, python3, py, py3, python3.11 …; `tag` in lower case.
bool is_python_tag(std::string_view tag);

}  // namespace regatta
