// SPDX-License-Identifier: Apache-2.0
#include "node/judge_codec.hpp"

#include "messages/fields.hpp"
#include "node/clean_text.hpp"
#include "node/judge_memory.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace regatta {

namespace {

using nlohmann::json;

constexpr int request_version = 1;
constexpr int judge_version = 2;
/// Of a timing's wall limit for its pairs: starting, compiling and the last pair need the rest.
constexpr int timing_share = 3;

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

/// What is negative is the judge's own.
json wishes_of(const std::vector<tolerance_choice>& all) {
  auto out = json::object();
  for (const auto& x : all) {
    auto& one = out[x.dtype] = json::object();
    for (const auto& [key, value] : {std::pair{"atol", x.atol}, std::pair{"rtol", x.rtol}, std::pair{"norm", x.norm}}) {
      if (value >= 0) {
        one[key] = value;
      }
    }
  }
  return out;
}

}  // namespace

std::string judge_request(const judge_question& question, std::chrono::milliseconds wall, byte_count room,
                          const timing_host& host) {
  const auto& terms = question.terms;
  json out{{"request_version", request_version},
           {"kind", question.is_probe ? "probe" : question.is_timing ? "time" : "judge"},
           {"stage", question.stage},
           {"trials", terms.trials},
           {"question_timeout_ms", wall.count()},
           {"allow_tf32", terms.allow_tf32},
           {"needs_affine", terms.needs_affine},
           {"is_weak", terms.is_weak},
           {"allow_weak", terms.allow_weak},
           {"tightened", terms.tightened},
           {"tolerances", wishes_of(terms.tolerances)},
           {"body_limit", frame_room(room)},
           {"policy_off", terms.policy_off}};
  if (question.is_timing) {
    out["timing_budget_ms"] = wall.count() / timing_share;
    out["timing_bytes"] = host.room;
    out["bytes_per_s"] = host.bytes_per_s;
  }
  return out.dump();
}

probe_findings findings_of(std::string_view record) {
  constexpr std::size_t most_names = 16;
  probe_findings out;
  out.needs_affine = has_mark(record, "needs_affine");
  const auto found = json::parse(record, nullptr, false);
  if (!found.is_object()) {
    return out;
  }
  if (const auto names = found.find("tightened"); names != found.end() && names->is_array()) {
    for (const auto& each : *names) {
      if (each.is_string() && out.tightened.size() < most_names) {
        out.tightened.push_back(clean_text(each.get_ref<const std::string&>()));
      }
    }
  }
  if (const auto bytes = found.find("question_bytes"); bytes != found.end() && bytes->is_number_unsigned()) {
    out.question_bytes = bytes->get<std::uint64_t>();
  }
  return out;
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
