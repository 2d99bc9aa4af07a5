// SPDX-License-Identifier: Apache-2.0
#include "actors/code_blocks.hpp"

#include <cmark.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

namespace regatta {

namespace {

/// Columns of a line that may carry block structure (indentation, quote and list markers, fences). CommonMark has no
/// bound; without one, `* * * …` nests a container every two bytes and each later line walks them all. 48 columns
/// nest two dozen lists.
constexpr std::size_t structure_columns = 48;

/// Of an HTML line, enough for `</textarea>`, `<![CDATA[`, `<!--` to be known.
constexpr std::size_t html_columns = 12;

constexpr std::size_t tag_bytes = 32;

struct node_free {
  void operator()(cmark_node* x) const { cmark_node_free(x); }
};
struct iter_free {
  void operator()(cmark_iter* x) const { cmark_iter_free(x); }
};
struct parser_free {
  void operator()(cmark_parser* x) const { cmark_parser_free(x); }
};

bool is_blank(char x) {
  return x == ' ' || x == '\t';
}

bool is_fence_char(char x) {
  return x == '`' || x == '~';
}

std::size_t run_length(std::string_view text, std::size_t at) {
  const auto end = text.find_first_not_of(text[at], at);
  return (end == std::string_view::npos ? text.size() : end) - at;
}

/// Where the text behind indentation and quote markers begins.
std::size_t after_markers(std::string_view line) {
  const auto at = line.find_first_not_of(" \t>");
  return at == std::string_view::npos ? line.size() : at;
}

bool is_structure(char x) {
  return is_blank(x) || std::isdigit(static_cast<unsigned char>(x)) != 0 ||
         std::string_view{">-+*.)#`~_="}.find(x) != std::string_view::npos;
}

/// Keeps what the start and end conditions of HTML blocks look at, hides what starts inline syntax.
void mask_html(std::string_view rest, std::string& out) {
  out.append(rest.substr(0, html_columns));
  for (std::size_t i = std::min(html_columns, rest.size()); i < rest.size(); ++i) {
    out += std::string_view{"`*_&![]\\"}.find(rest[i]) == std::string_view::npos ? rest[i] : 'x';
  }
}

void mask_text(std::string_view rest, bool is_info, std::string& out) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto x = rest[i];
    // Of `</pre>`, `</script>`, `</style>`, `</textarea>` and `]]>`.
    const bool ends_html = (x == '<' && rest.substr(i + 1, 1) == "/" &&
                            std::string_view{"pPsStT"}.find(rest.substr(i + 2, 1)) != std::string_view::npos) ||
                           rest.substr(i, 3) == "]]>" || rest.substr(i, 2) == "]>";
    // A backtick in an info string decides whether the line is a fence.
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(x)) != 0 || is_blank(x) || x == '>' || x == '-' || x == '?' || x == '/';
    out += is_plain || ends_html || (is_info && x == '`') ? x : 'x';
  }
}

/// The line as libcmark gets to see it: its block structure as it is, the rest without inline syntax. Inline parsing
/// has no use here and takes quadratic time for some inputs (`![[]()` over and over, in 0.30.2).
void mask_line(std::string_view line, std::string& out) {
  if (line.find_first_not_of(" \t") == std::string_view::npos) {
    return;
  }
  std::size_t at = 0;
  bool is_info = false;
  while (at < line.size() && at < structure_columns && is_structure(line[at])) {
    const auto run = is_fence_char(line[at]) ? run_length(line, at) : 1;
    is_info = is_info || run >= 3;
    out.append(line.substr(at, std::min(run, structure_columns)));
    at += run;
  }
  const auto rest = line.substr(at);
  if (rest.find_first_not_of(" \t*_=-#") == std::string_view::npos) {
    return;  // A long rule or underline is one with fewer columns, too.
  }
  if (!rest.empty() && rest.front() == '<') {
    mask_html(rest, out);
  } else {
    mask_text(rest, is_info, out);
  }
}

struct opener {
  std::size_t column = 0;
  char fence = 0;
  std::size_t length = 0;
  std::string_view info;
};

/// The fence that `line` has at `column`, if it can open a block.
std::optional<opener> opener_at(std::string_view line, std::size_t column) {
  if (column >= line.size() || !is_fence_char(line[column])) {
    return std::nullopt;
  }
  const auto length = run_length(line, column);
  const auto info = line.substr(column + length);
  if (length < 3 || (line[column] == '`' && info.find('`') != std::string_view::npos)) {
    return std::nullopt;
  }
  return opener{column, line[column], length, info};
}

std::string tag_of(std::string_view info) {
  const auto begin = std::min(info.find_first_not_of(" \t{."), info.size());
  const auto word = info.substr(begin);
  auto tag = std::string{word.substr(0, std::min(word.find_first_of(" \t,:{}="), tag_bytes))};
  // It is quoted in notes: no control characters, and no character that the cut above has halved.
  std::transform(tag.begin(), tag.end(), tag.begin(),
                 [](unsigned char x) { return x > 0x20 && x < 0x7F ? static_cast<char>(std::tolower(x)) : '?'; });
  return tag;
}

code_block fenced_block(std::string_view line, std::size_t index, const opener& x) {
  code_block out;
  out.opened = index;
  out.first = index + 1;
  out.fence = x.fence;
  out.fence_length = x.length;
  out.prefix = line.substr(0, x.column);
  out.tag = tag_of(x.info);
  if (is_python_tag(out.tag)) {
    out.rank = block_rank::python;
  } else {
    out.rank = x.info.find_first_not_of(" \t") == std::string_view::npos ? block_rank::untagged : block_rank::other;
  }
  return out;
}

bool closes(std::string_view line, const code_block& block) {
  const auto at = after_markers(line);
  return at < line.size() && line[at] == block.fence && run_length(line, at) >= block.fence_length &&
         line.find_first_not_of(" \t", at + run_length(line, at)) == std::string_view::npos;
}

/// Both kinds of block look alike in libcmark's interface. An indented one has what looks like its fence as its first
/// line of code; in a fenced one that line would have to stand twice, and without info string it would close the block.
bool is_indented(const std::vector<std::string_view>& lines, std::size_t index, const opener& fence,
                 std::string_view literal) {
  std::string first;
  mask_line(lines[index].substr(fence.column), first);
  const bool has_info = fence.info.find_first_not_of(" \t") != std::string_view::npos;
  const bool is_repeated = index + 1 < lines.size() && lines[index + 1].ends_with(lines[index].substr(fence.column));
  return literal.starts_with(first + '\n') && !(has_info && is_repeated);
}

code_block block_of(cmark_node* node, const std::vector<std::string_view>& lines) {
  const auto index = static_cast<std::size_t>(cmark_node_get_start_line(node)) - 1;
  const auto column = static_cast<std::size_t>(cmark_node_get_start_column(node)) - 1;
  const std::string_view literal = cmark_node_get_literal(node);
  const auto line = lines[index];
  code_block out;
  if (const auto fence = opener_at(line, column); fence && !is_indented(lines, index, *fence, literal)) {
    out = fenced_block(line, index, *fence);
  } else {
    out.opened = out.first = index;
    out.prefix = line.substr(0, column);
    out.rank = block_rank::indented;
    out.is_closed = true;
  }
  out.count = static_cast<std::size_t>(std::count(literal.begin(), literal.end(), '\n'));
  out.count = std::min(out.count, lines.size() - std::min(out.first, lines.size()));
  // Not by the node's end line: libcmark counts the line that ended an enclosing list item as the block's.
  const auto behind = out.first + out.count;
  out.is_closed = out.is_closed || (behind < lines.size() && closes(lines[behind], out));
  return out;
}

std::vector<code_block> commonmark_blocks(const std::vector<std::string_view>& lines) {
  const std::unique_ptr<cmark_parser, parser_free> parser{cmark_parser_new(CMARK_OPT_DEFAULT)};
  std::string masked;
  for (const auto line : lines) {
    masked.clear();
    mask_line(line, masked);
    masked += '\n';
    cmark_parser_feed(parser.get(), masked.data(), masked.size());
  }
  const std::unique_ptr<cmark_node, node_free> document{cmark_parser_finish(parser.get())};
  const std::unique_ptr<cmark_iter, iter_free> iter{cmark_iter_new(document.get())};
  std::vector<code_block> out;
  while (cmark_iter_next(iter.get()) != CMARK_EVENT_DONE) {
    auto* node = cmark_iter_get_node(iter.get());
    if (cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK) {
      out.push_back(block_of(node, lines));
    }
  }
  return out;
}

/// Python-tagged fences outside every block found so far.
void add_stray_blocks(const std::vector<std::string_view>& lines, std::vector<code_block>& blocks) {
  std::vector<bool> is_taken(lines.size());
  for (const auto& block : blocks) {
    // An indented block may itself hold a fence: that is what a fence indented too far looks like.
    if (block.rank != block_rank::indented) {
      std::fill_n(is_taken.begin() + static_cast<std::ptrdiff_t>(block.opened),
                  std::min(block.count + 1, lines.size() - block.opened), true);
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto fence = is_taken[i] ? std::nullopt : opener_at(lines[i], after_markers(lines[i]));
    if (!fence || !is_python_tag(tag_of(fence->info))) {
      continue;
    }
    auto block = fenced_block(lines[i], i, *fence);
    block.rank = block_rank::stray;
    auto end = block.first;
    while (end < lines.size() && !closes(lines[end], block)) {
      ++end;
    }
    block.count = end - block.first;
    block.is_closed = end < lines.size();
    blocks.push_back(block);
    i = end;
  }
}

/// `line` without the part of `prefix` that it has: indentation, list columns, quote markers.
std::string_view without_prefix(std::string_view line, std::string_view prefix) {
  for (const auto expected : prefix) {
    if (line.empty()) {
      break;
    }
    if (expected == '>') {
      const auto marker = line.find_first_not_of(" \t");
      if (marker != std::string_view::npos && line[marker] == '>') {
        line.remove_prefix(marker + 1);
      }
    } else if (is_blank(line.front())) {
      line.remove_prefix(1);
    }
  }
  return line;
}

}  // namespace

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::vector<code_block> code_blocks(const std::vector<std::string_view>& lines) {
  auto out = commonmark_blocks(lines);
  add_stray_blocks(lines, out);
  return out;
}

std::vector<bare_fence> bare_fences(const std::vector<std::string_view>& lines) {
  std::vector<bare_fence> out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto fence = opener_at(lines[i], after_markers(lines[i]));
    if (fence && fence->info.find_first_not_of(" \t") == std::string_view::npos) {
      out.push_back({i, fence->fence, fence->length});
    }
  }
  return out;
}

std::string block_text(const std::vector<std::string_view>& lines, const code_block& block, std::size_t from,
                       std::size_t to) {
  std::string out;
  for (auto i = from; i < std::min(to, lines.size()); ++i) {
    // Indented code may begin behind a list marker.
    out += i == block.opened ? lines[i].substr(block.prefix.size()) : without_prefix(lines[i], block.prefix);
    out += '\n';
  }
  return out;
}

bool is_python_tag(std::string_view tag) {
  const auto version = tag.starts_with("python") ? tag.substr(6) : tag.starts_with("py") ? tag.substr(2) : "no";
  return version.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace regatta
