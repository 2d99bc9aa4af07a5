// SPDX-License-Identifier: Apache-2.0
#include "cli/verdict_codec.hpp"

#include "cli/terminal_text.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>

namespace regatta::cli {

namespace {

using nlohmann::json;

std::string text_at(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? clean_line(at->get_ref<const std::string&>()) : std::string{};
}

/// Non-numbers (a trial without outputs, NaN as null) are a dash.
std::string number_at(const json& from, const char* key, const char* format) {
  const auto at = from.find(key);
  if (at == from.end() || !at->is_number()) {
    return "-";
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, at->get<double>());
  return text.data();
}

std::string joined(const json& from, const char* key) {
  std::string out;
  const auto at = from.find(key);
  if (at == from.end() || !at->is_array()) {
    return out;
  }
  for (const auto& each : *at) {
    if (each.is_string()) {
      out += (out.empty() ? "" : ", ") + clean_line(each.get_ref<const std::string&>());
    }
  }
  return out;
}

std::string trial_line(const json& trial, std::size_t number) {
  return "  trial " + std::to_string(number) + "    " + text_at(trial, "style") + ": largest error " +
         number_at(trial, "worst_abs", "%.2e") + ", relative " + number_at(trial, "worst_rel", "%.2e") + ", norm " +
         number_at(trial, "norm", "%.2e") + " (torch's own " + number_at(trial, "eager_norm", "%.2e") + "), " +
         number_at(trial, "candidate_ms", "%.1f") + " ms, torch " + number_at(trial, "reference_ms", "%.1f") + " ms\n";
}

void add_line(std::string& out, const char* name, const std::string& text) {
  if (!text.empty()) {
    out += "  " + std::string{name} + text + "\n";
  }
}

}  // namespace

std::string verdict_text(std::string_view record) {
  const auto found = json::parse(record, nullptr, false);
  std::string out;
  if (!found.is_object()) {
    return out;
  }
  if (const auto trials = found.find("trials"); trials != found.end() && trials->is_array()) {
    std::size_t number = 0;
    for (const auto& trial : *trials) {
      out += trial.is_object() ? trial_line(trial, ++number) : "";
    }
  }
  add_line(out, "marks      ", joined(found, "marks"));
  add_line(out, "weak       ", joined(found, "weak"));
  add_line(out, "tightened  ", joined(found, "tightened"));
  add_line(out, "kernel     ", text_at(found, "kernel_evidence"));
  add_line(out, "engine     ", text_at(found, "engine"));
  return out;
}

}  // namespace regatta::cli
