// SPDX-License-Identifier: Apache-2.0
#include "node/source_check_codec.hpp"

#include "node/clean_text.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace regatta {

namespace {

using nlohmann::json;

constexpr std::size_t max_names = 4096;
constexpr std::size_t max_name_bytes = 1024;
constexpr std::size_t max_error_bytes = 2000;

template <class T>
bool take(const json& from, const char* key, T& out) {
  const auto at = from.find(key);
  if (at == from.end()) {
    return false;
  }
  if constexpr (std::is_same_v<T, bool>) {
    return at->is_boolean() && (out = at->get<bool>(), true);
  } else {
    return at->is_string() && (out = at->get_ref<const std::string&>(), true);
  }
}

bool take_names(const json& from, std::vector<std::string>& out) {
  const auto at = from.find("definitions");
  if (at == from.end() || !at->is_array() || at->size() > max_names) {
    return false;
  }
  for (const auto& name : *at) {
    if (!name.is_string() || name.get_ref<const std::string&>().size() > max_name_bytes) {
      return false;
    }
    out.push_back(clean_text(name.get_ref<const std::string&>()));
  }
  return true;
}

}  // namespace

std::string encode_question(std::uint64_t number, std::string_view text) {
  auto question = std::to_string(number) + " " + std::to_string(text.size()) + "\n";
  return question.append(text);
}

std::optional<helper_answer> decode_answer(std::string_view line) {
  if (line.size() > helper_line_bytes) {
    return std::nullopt;
  }
  const auto root = json::parse(line, nullptr, false);
  if (!root.is_object()) {
    return std::nullopt;
  }
  const auto id = root.find("id");
  if (id == root.end() || !id->is_number_unsigned()) {
    return std::nullopt;
  }
  helper_answer out{id->get<std::uint64_t>(), {}};
  if (out.number == 0) {
    return out;
  }
  const bool is_whole = take(root, "parses", out.facts.parses) && take(root, "error", out.facts.error) &&
                        take(root, "has_main", out.facts.has_main) && take_names(root, out.facts.definitions);
  if (!is_whole || out.facts.error.size() > max_error_bytes) {
    return std::nullopt;
  }
  out.facts.error = clean_text(out.facts.error);
  return out;
}

}  // namespace regatta
