// SPDX-License-Identifier: Apache-2.0
#include "node/judge_codec.hpp"

#include "messages/fields.hpp"
#include "node/clean_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace regatta {

namespace {

using nlohmann::json;

constexpr int request_version = 1;
constexpr int judge_version = 2;

std::string text_at(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? clean_text(at->get_ref<const std::string&>()) : std::string{};
}

bool take_judgement(const std::string& name, judge_verdict& out) {
  constexpr std::array<std::pair<std::string_view, judge_end>, 3> ends = {
      {{"candidate_gone", judge_end::candidate_gone},
       {"reference_gone", judge_end::reference_gone},
       {"timed_out", judge_end::timed_out}}};
  for (const auto& [text, end] : ends) {
    if (name == text) {
      out.end = end;
      return true;
    }
  }
  const auto found = from_name<judgement>(name);
  out.judgement = found.value_or(judgement::not_judged);
  return found.has_value() && *found != judgement::not_judged;
}

}  // namespace

std::string judge_request(const judge_question& question, std::chrono::milliseconds wall) {
  json out{{"request_version", request_version},
           {"kind", question.is_probe ? "probe" : "judge"},
           {"stage", question.stage},
           {"trials", question.trials},
           {"question_timeout_ms", wall.count()},
           {"allow_tf32", question.terms.allow_tf32},
           {"needs_affine", question.terms.needs_affine},
           {"policy_off", question.terms.policy_off}};
  return out.dump();
}

bool has_mark(std::string_view record, std::string_view mark) {
  const auto found = json::parse(record, nullptr, false);
  const auto marks = found.is_object() ? found.find("marks") : found.end();
  return marks != found.end() && marks->is_array() && std::find(marks->begin(), marks->end(), mark) != marks->end();
}

std::optional<judge_verdict> parse_judge_verdict(std::string_view text) {
  const auto found = json::parse(text, nullptr, false);
  const auto version = found.is_object() ? found.find("judge_version") : found.end();
  if (version == found.end() || *version != judge_version) {
    return std::nullopt;
  }
  judge_verdict out;
  if (!take_judgement(text_at(found, "judgement"), out)) {
    return std::nullopt;
  }
  out.reason = text_at(found, "reason");
  out.feedback = text_at(found, "feedback");
  out.record = found.dump(-1, ' ', false, json::error_handler_t::replace);
  return out;
}

}  // namespace regatta
