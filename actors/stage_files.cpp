// SPDX-License-Identifier: Apache-2.0
// load_stage: the files of prompts/<stage>/, as prompts/README.md documents them.
#include "actors/prompts.hpp"
#include "actors/utf8_check.hpp"
#include "messages/digest.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace regatta {

namespace {

namespace fs = std::filesystem;

/// One prompt file. The shipped ones have less than 10 KiB, and all of it is paid for in every call.
constexpr byte_count prompt_file_bytes = 256 * KiB;
constexpr std::size_t stage_name_bytes = 32;
constexpr std::size_t name_bytes = 100;

caf::error complain(const fs::path& file, const std::string& got, const std::string& allowed) {
  return fail(ec::invalid_config, "\"" + file.string() + "\": got " + got + ", allowed: " + allowed);
}

bool is_identifier(std::string_view x) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !x.empty() && std::isdigit(static_cast<unsigned char>(x.front())) == 0 &&
         std::all_of(x.begin(), x.end(), is_word);
}

/// Lower case only, so that a stage never names another folder than its own.
bool is_stage_name(std::string_view x) {
  return is_identifier(x) && x.size() <= stage_name_bytes &&
         std::none_of(x.begin(), x.end(), [](unsigned char c) { return std::isupper(c) != 0; });
}

std::string stripped(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n");
  return begin == std::string_view::npos ? std::string{}
                                         : std::string{text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1)};
}

std::string with_lf(const std::string& text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char x) { return x != '\r'; });
  return out.starts_with("\xEF\xBB\xBF") ? out.substr(3) : out;
}

/// A comment at the very top is for editors: licence, notes.
std::string without_comment(std::string text) {
  text = stripped(text);
  const auto end = text.find("-->");
  return text.starts_with("<!--") && end != std::string::npos ? stripped(std::string_view{text}.substr(end + 3)) : text;
}

caf::expected<std::string> read_file(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    return fail(ec::not_found, "no file \"" + file.string() + "\"");
  }
  if (!fs::is_regular_file(file, error)) {
    return complain(file, "something else", "a regular file");
  }
  const auto size = fs::file_size(file, error);
  if (error || size > prompt_file_bytes) {
    return complain(file, std::to_string(size) + " bytes", "at most " + std::to_string(prompt_file_bytes));
  }
  std::ifstream in{file, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in) {
    return fail(ec::io_failed, "cannot read \"" + file.string() + "\"");
  }
  if (text.find('\0') != std::string::npos || first_bad_utf8(text) != std::string_view::npos) {
    return complain(file, "bytes that are not UTF-8 text", "UTF-8 text");
  }
  return with_lf(text);
}

caf::expected<std::string> read_text(const fs::path& file) {
  auto text = read_file(file);
  if (!text) {
    return text;
  }
  auto out = without_comment(std::move(*text));
  return out.empty() ? caf::expected<std::string>{complain(file, "nothing", "the text of a prompt")} : out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// `## name` begins a variant; what stands before the first one is for editors.
caf::expected<std::vector<std::string>> read_variants(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) {
    return text.error();
  }
  std::vector<std::string> out;
  for (const auto& line : lines_of(*text)) {
    if (line.starts_with("## ")) {
      out.emplace_back();
    } else if (!out.empty()) {
      out.back() += line + '\n';
    }
  }
  for (auto& variant : out) {
    variant = stripped(variant);
    if (variant.empty()) {
      return complain(file, "a heading without text", "`## name` followed by the variant's text");
    }
    if (std::count(out.begin(), out.end(), variant) > 1) {
      return complain(file, "the same text twice", "variants that differ");
    }
  }
  return out.empty() ? caf::expected<std::vector<std::string>>{complain(file, "no variant", "one or more `## name`")}
                     : out;
}

/// One name a line; `#` begins a comment. An empty list takes any program.
caf::expected<std::vector<std::string>> read_names(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) {
    return text.error();
  }
  std::vector<std::string> out;
  for (const auto& line : lines_of(*text)) {
    const auto name = stripped(line.substr(0, line.find('#')));
    if (!name.empty() && !is_identifier(name)) {
      return complain(file, "\"" + name.substr(0, name_bytes) + "\"", "one Python name a line, # for comments");
    }
    if (!name.empty()) {
      out.push_back(name);
    }
  }
  return out;
}

/// Unambiguous: each text with its length before it.
std::string digest_of(const stage_spec& stage) {
  std::string all;
  const auto add = [&all](const std::string& x) { all += std::to_string(x.size()) + ":" + x; };
  const auto add_list = [&](const std::vector<std::string>& xs) {
    add(std::to_string(xs.size()));
    std::for_each(xs.begin(), xs.end(), add);
  };
  add(stage.name);
  add(stage.system);
  add_list(stage.variants);
  add(stage.body);
  add_list(stage.must_define);
  return sha256_hex(all);
}

std::string stages_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator{folder, error}) {
    if (fs::exists(entry.path() / "body.md", error)) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  std::string out;
  for (const auto& name : names) {
    out += (out.empty() ? "" : ", ") + name;
  }
  return out.empty() ? "none" : out;
}

}  // namespace

caf::expected<stage_spec> load_stage(const std::string& folder, std::string_view stage) {
  const fs::path root{folder};
  stage_spec out;
  out.name = stage;
  const auto dir = root / out.name;
  std::error_code error;
  if (!is_stage_name(stage) || !fs::is_directory(dir, error)) {
    return fail(ec::not_found, "no stage \"" + out.name.substr(0, name_bytes) + "\" in \"" + folder +
                                   "\"; stages there: " + stages_in(root));
  }
  auto system = read_text(dir / "system.md");
  auto body = read_text(dir / "body.md");
  auto variants = read_variants(dir / "variants.md");
  auto names = read_names(dir / "must_define.txt");
  if (!system || !body || !variants || !names) {
    return !system ? system.error() : !body ? body.error() : !variants ? variants.error() : names.error();
  }
  out.system = std::move(*system);
  out.body = std::move(*body);
  out.variants = std::move(*variants);
  out.must_define = std::move(*names);
  out.digest = digest_of(out);
  return out;
}

}  // namespace regatta
