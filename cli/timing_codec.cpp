// SPDX-License-Identifier: Apache-2.0
#include "cli/timing_codec.hpp"

#include "cli/terminal_text.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <ctime>

namespace regatta::cli {

namespace {

using nlohmann::json;

std::string words_at(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? clean_line(at->get_ref<const std::string&>()) : std::string{};
}

/// 0 where there is none.
double figure_in(const json& from, const char* outer, const char* inner) {
  const auto at = from.find(outer);
  if (at == from.end() || !at->is_object()) {
    return 0;
  }
  const auto value = at->find(inner);
  return value != at->end() && value->is_number() ? value->get<double>() : 0;
}

std::string figure_text(double x, const char* unit = "") {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.4g%s", x, unit);
  return text.data();
}

std::string joined_words(const json& from, const char* key) {
  std::string out;
  const auto at = from.find(key);
  if (at != from.end() && at->is_array()) {
    for (const auto& each : *at) {
      out += each.is_string() ? (out.empty() ? "" : ", ") + clean_line(each.get_ref<const std::string&>()) : "";
    }
  }
  return out;
}

std::string figures(const json& x) {
  const auto pairs = x.find("pairs");
  return figure_text(figure_in(x, "candidate_ms", "median"), " ms") + " beside " +
         figure_text(figure_in(x, "reference_ms", "median"), " ms") + ", medians of " +
         (pairs != x.end() && pairs->is_number_unsigned() ? std::to_string(pairs->get<std::uint64_t>()) : "?") + " pairs, " +
         words_at(x, "device") + (words_at(x, "engine").empty() ? "" : " (" + words_at(x, "engine") + ")");
}

std::string result_line(const json& x, const timing_row& row) {
  const auto status = words_at(x, "status");
  if (status == "timed") {
    return figure_text(figure_in(x, "speedup", "median")) + " times the reference's speed (quartiles " +
           figure_text(figure_in(x, "speedup", "low")) + " to " + figure_text(figure_in(x, "speedup", "high")) + "): " + figures(x);
  }
  const auto why = row.reason.empty() ? words_at(x, "reason") : clean_line(row.reason);
  return (status.empty() ? std::string{"not done"} : status) + (why.empty() ? "" : ": " + why) +
         (status == "rejected" ? " (" + figures(x) + ")" : "");
}

/// "0.4 ms ± 0.01"
std::string event_figures(const json& from, const char* key) {
  return figure_text(figure_in(from, key, "mean"), " ms") + " ± " + figure_text(figure_in(from, key, "std"));
}

std::string day_of(std::int64_t us) {
  const auto seconds = static_cast<std::time_t>(us / 1'000'000);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts);
  return text.data();
}

json timing_object(const std::string& record) {
  auto out = json::parse(record, nullptr, false);
  return out.is_object() ? out : json::object();
}

}  // namespace

std::vector<std::string> timing_lines(const timing_row& x) {
  std::vector<std::string> out;
  const auto record = timing_object(x.record);
  if (!record.empty() || !x.status.empty() || !x.reason.empty()) {
    out.push_back(result_line(record, x));
  }
  if (const auto bench = record.find("kernelbench"); bench != record.end() && bench->is_object()) {
    out.push_back("by KernelBench's " + words_at(*bench, "timing_method") + ": " + event_figures(*bench, "candidate_ms") +
                  " beside " + event_figures(*bench, "reference_ms"));
  }
  if (const auto flags = joined_words(record, "flags"); !flags.empty()) {
    out.push_back("flags: " + flags);
  }
  if (x.baseline_ms > 0) {
    out.push_back("baseline of the reference: " + figure_text(x.baseline_ms, " ms") + ", measured on " + day_of(x.baseline_us) +
                  " in " + clean_line(x.baseline_race.text) + ", " + clean_line(x.baseline_device));
  }
  return out;
}

std::string timing_json(const timing_row& x) {
  const auto record = timing_object(x.record);
  if (record.empty() && x.status.empty() && x.reason.empty()) {
    return "null";
  }
  json out{{"status", x.status.empty() ? record.value("status", "not_done") : x.status},
           {"reason", x.reason},
           {"record", record},
           {"baseline", nullptr}};
  if (x.baseline_ms > 0) {
    out["baseline"] = {{"reference_ms", x.baseline_ms},
                       {"device", x.baseline_device},
                       {"measured_us", x.baseline_us},
                       {"race", x.baseline_race.text}};
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace regatta::cli
