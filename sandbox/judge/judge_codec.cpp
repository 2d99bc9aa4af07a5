// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/judge_words.hpp"
#include "sandbox/judge/timing_codec.hpp"
#include "sandbox/judge/tolerance_codec.hpp"
#include "sandbox/judge/tree_codec.hpp"

#include <algorithm>
#include <cmath>

namespace regatta::judge {

namespace {

constexpr std::uint64_t most_timeout_ms = 86'400'000;
constexpr std::uint64_t most_trials = 1000;

std::uint64_t count_member(const json& x, const char* key, std::uint64_t otherwise, std::uint64_t most) {
  if (!x.contains(key)) {
    return otherwise;
  }
  const auto& value = x.at(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0 || value.get<std::uint64_t>() > most) {
    throw malformed{std::string{key} + " wants a number from 1 to " + std::to_string(most)};
  }
  return value.get<std::uint64_t>();
}

bool flag_member(const json& x, const char* key) {
  if (!x.contains(key)) {
    return false;
  }
  if (!x.at(key).is_boolean()) {
    throw malformed{std::string{key} + " wants true or false"};
  }
  return x.at(key).get<bool>();
}

template <class E>
E name_member(const json& x, const char* key) {
  const auto found = from_name<E>(text_member(x, key, 64));
  if (!found) {
    throw malformed{std::string{key} + " wants one of " + all_names<E>()};
  }
  return *found;
}

/// The strictest name counts, as each includes those before it.
strictness read_strictness(const json& x) {
  auto out = strictness::usual;
  if (!x.is_array()) {
    throw malformed{"tightened wants a list of names"};
  }
  for (const auto& each : x) {
    const auto found = each.is_string() ? from_name<strictness>(each.get<std::string>()) : std::nullopt;
    if (!found) {
      throw malformed{"tightened wants some of " + all_names<strictness>()};
    }
    out = std::max(out, *found);
  }
  return out;
}

json write_strictness(strictness x) {
  auto out = json::array();
  for (const auto& [each, name] : enum_names<strictness>::value) {
    if (each != strictness::usual && each <= x) {
      out.push_back(name);
    }
  }
  return out;
}

std::vector<std::string> read_names(const json& x) {
  constexpr std::size_t most = 100;
  std::vector<std::string> out;
  if (!x.is_array() || x.size() > most) {
    throw malformed{"policy_off wants a list of names of rules"};
  }
  for (const auto& each : x) {
    if (!each.is_string()) {
      throw malformed{"policy_off wants names of rules"};
    }
    out.push_back(each.get<std::string>());
  }
  return out;
}

json write_policy(const std::vector<policy_finding>& all) {
  auto out = json::array();
  for (const auto& x : all) {
    out.push_back({{"rule", x.rule}, {"severity", x.is_error ? "error" : "warning"}, {"line", x.line}, {"text", x.text}});
  }
  return out;
}

/// JSON has no infinity.
json number_or_null(double x) {
  return std::isfinite(x) ? json(x) : json();
}

json write_trial(const trial_record& x) {
  return {{"init_seed", x.asked.init_seed},
          {"input_seed", x.asked.input_seed},
          {"style", x.asked.style},
          {"right", x.is_right},
          {"weights", x.is_transplanted ? "transplanted" : "same_seed"},
          {"worst_abs", number_or_null(x.figures.worst_abs)},
          {"worst_rel", number_or_null(x.figures.worst_rel)},
          {"norm", number_or_null(x.figures.norm)},
          {"eager_norm", number_or_null(x.figures.eager_norm)},
          {"reference_ms", x.reference_time.count()},
          {"candidate_ms", x.candidate_time.count()}};
}

json write_versions(const side_versions& x) {
  return {{"python", x.python}, {"torch", x.torch}, {"device", x.device}};
}

}  // namespace

void judge_verdict::mark(const std::string& x) {
  if (std::find(marks.begin(), marks.end(), x) == marks.end()) {
    marks.push_back(x);
  }
}

judge_request read_request(std::string_view text) {
  const auto x = parse_object(text);
  if (count_member(x, "request_version", 0, 1'000'000) != request_version) {
    throw malformed{"request_version wants " + std::to_string(request_version)};
  }
  judge_request out;
  out.kind = name_member<request_kind>(x, "kind");
  out.stage = x.contains("stage") ? name_member<judged_stage>(x, "stage") : out.stage;
  out.trials = static_cast<unsigned>(count_member(x, "trials", out.trials, most_trials));
  const auto timeout = count_member(x, "question_timeout_ms", 30'000, most_timeout_ms);
  out.question_timeout = std::chrono::milliseconds{timeout};
  out.hello_timeout = std::chrono::milliseconds{count_member(x, "hello_timeout_ms", timeout, most_timeout_ms)};
  out.body_limit = count_member(x, "body_limit", std::uint64_t{1} << 30, std::uint64_t{1} << 40);
  if (x.contains("tolerances")) {
    out.tolerances = read_tolerance_wishes(x.at("tolerances"));
  }
  out.tightened = x.contains("tightened") ? read_strictness(x.at("tightened")) : strictness::usual;
  out.allows_tf32 = flag_member(x, "allow_tf32");
  out.is_reference_warm = flag_member(x, "reference_is_warm");
  out.needs_affine = flag_member(x, "needs_affine");
  out.is_weak = flag_member(x, "is_weak");
  out.allows_weak = flag_member(x, "allow_weak");
  out.policy_off = x.contains("policy_off") ? read_names(x.at("policy_off")) : std::vector<std::string>{};
  out.engine = x.contains("engine") ? plain_line(text_member(x, "engine"), 100) : "";
  out.timing_budget = std::chrono::milliseconds{count_member(x, "timing_budget_ms", 40'000, most_timeout_ms)};
  out.timing_room.most = count_member(x, "timing_bytes", out.timing_room.most, std::uint64_t{1} << 50);
  out.timing_room.usual = std::min(out.timing_room.usual, out.timing_room.most);
  if (x.contains("bytes_per_s")) {
    const auto& speed = x.at("bytes_per_s");
    out.bytes_per_s = speed.is_number() && speed.get<double>() > 0 ? speed.get<double>() : 0;
  }
  return out;
}

std::string write_verdict(const judge_verdict& x) {
  auto trials = json::array();
  for (const auto& trial : x.trials) {
    trials.push_back(write_trial(trial));
  }
  json out{{"judge_version", judge_version},
                 {"judgement", name_of(x.judgement)},
                 {"reason", x.reason},
                 {"feedback", x.feedback},
                 {"weights", x.is_transplanted ? "transplanted" : "same_seed"},
                 {"marks", x.marks},
                 {"weak", x.weak},
                 {"kernel_evidence", x.kernel_evidence},
                 {"function_refused", x.function_refused},
                 {"policy", write_policy(x.policy)},
                 {"trials", trials},
                 {"tolerances", write_tolerances(x.tolerances)},
                 {"tightened", write_strictness(x.tightened)},
                 {"launched", x.launched.empty() ? json::array() : json::parse(x.launched, nullptr, false)},
                 {"question_bytes", x.question_bytes},
                 {"problem_sha256", x.problem_digest},
                 {"engine", x.engine},
                 {"mode", x.mode},
                 {"reference", write_versions(x.reference)},
                 {"candidate", write_versions(x.candidate)},
                 {"reference_usable", x.is_reference_usable}};
  if (x.timing) {
    out["timing"] = write_timing(*x.timing);
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace regatta::judge
