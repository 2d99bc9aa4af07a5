// SPDX-License-Identifier: Apache-2.0
#include "cli/race_plan.hpp"

#include "cli/budgets.hpp"
#include "cli/http_url.hpp"
#include "messages/error.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

namespace regatta::cli {

namespace {

/// `out.bin`, `logs/a.txt`: below the candidate's folder, written in one way only.
bool is_plain_path(std::string_view text) {
  for (std::size_t from = 0; from <= text.size();) {
    const auto slash = std::min(text.find('/', from), text.size());
    const auto part = text.substr(from, slash - from);
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
    from = slash + 1;
  }
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

/// Empty if all may be kept.
std::string keep_problem(const setting& keep) {
  for (const auto& name : keep.values) {
    if (!is_plain_path(name)) {
      return keep.source + ": got \"" + name +
             "\", allowed: the path of a file below the candidate's folder, such as out.bin or logs/a.txt";
    }
  }
  if (keep.values.size() > artifact_files) {
    return keep.source + ": got " + std::to_string(keep.values.size()) + " names, allowed: at most " +
           std::to_string(artifact_files);
  }
  return {};
}

}  // namespace

race_id make_run_id(std::chrono::system_clock::time_point now, std::uint32_t random) {
  const auto seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d_%H%M%S", &parts);
  char text[64];
  std::snprintf(text, sizeof text, "run_%s_%08x", date, random);
  return race_id{text};
}

caf::expected<void> check_settings(const settings& values) {
  const auto refuse = [](const std::string& text) { return caf::expected<void>{fail(ec::invalid_config, text)}; };
  if (values.flag("json") && values.flag("quiet")) {
    return refuse("got --json and --quiet, allowed: one of them");
  }
  const auto& model = values.at("model");
  if (model.source == "--model" && !values.list("models").empty() && values.at("models").source == "--models") {
    return refuse("got --model and --models, allowed: one of them");
  }
  const auto events = values.text("events");
  const bool is_known =
      events.empty() || events == "off" || events.starts_with("ipc:///") || events.starts_with("tcp://");
  if (!is_known) {
    return refuse(values.at("events").source + ": got \"" + events +
                  "\", allowed: ipc:///PATH, tcp://127.0.0.1:PORT, off");
  }
  if (values.flag("timing") && values.text("accept") == "claimed") {
    return refuse(values.at("timing").source + ": got true beside --accept claimed, allowed: --accept verified, both (only " +
                  "what the judge found right is timed)");
  }
  if (const auto why = keep_problem(values.at("keep")); !why.empty()) {
    return refuse(why);
  }
  // OPENAI_BASE_URL may speak of a server that this race does not ask; a flag is wrong even beside --replay.
  const auto& url = values.at("base-url");
  if (!url.values.empty() && !url.source.starts_with("OPENAI_")) {
    if (const auto why = why_not_http_url(url.values.front()); !why.empty()) {
      return refuse(url.source + ": got \"" + url.values.front() + "\" (" + why +
                    "), allowed: " + std::string{http_url_form});
    }
  }
  return {};
}

run_limits limits_of(const settings& values) {
  run_limits out;
  out.wall = std::chrono::seconds{values.seconds("run-timeout-s")};
  out.cpu = std::chrono::seconds{values.seconds("limit-cpu")};
  out.memory = values.bytes("limit-memory");
  out.data = out.memory;
  out.disk = values.bytes("limit-disk");
  out.file = out.disk;
  out.pids = static_cast<std::uint32_t>(values.integer("limit-pids"));
  out.open_files = static_cast<std::uint32_t>(values.integer("limit-open-files"));
  out.output = values.bytes("limit-output");
  return out;
}

std::vector<worker_spec> plan_workers(const settings& values, const race_models& from, std::size_t variants) {
  const auto& provider = from.first;
  const auto& models = values.list("models");
  const auto& temperatures = values.list("temperature");
  const auto& seeds = values.list("seed");
  const auto count = static_cast<std::uint32_t>(values.integer("workers"));
  std::vector<worker_spec> out(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto& spec = out[i];
    spec.number = i + 1;
    spec.worker = make_worker_id(spec.number);
    spec.variant = static_cast<std::uint32_t>(i % std::max<std::size_t>(variants, 1));
    spec.choice.provider = provider.provider.name;
    spec.choice.model = models.empty() ? provider.model : models[i % models.size()];
    if (!temperatures.empty()) {
      spec.choice.temperature = to_number(temperatures[i % temperatures.size()]);
    }
    if (!seeds.empty()) {
      spec.choice.seed = to_integer(seeds[i % seeds.size()]);
    }
    spec.choice.max_output_tokens = static_cast<std::uint32_t>(values.integer("max-output-tokens"));
    spec.choice.reasoning_effort = values.text("reasoning-effort");
    for (const auto& other : from.fallbacks) {
      auto& fallback = spec.fallbacks.emplace_back(spec.choice);
      fallback.provider = other.provider.name;
      fallback.model = other.model;
    }
  }
  return out;
}

namespace {

std::vector<tolerance_choice> tolerances_of(const std::vector<std::string>& texts) {
  std::vector<tolerance_choice> out;
  for (const auto& text : texts) {
    const auto one = to_tolerance(text);
    auto known = std::ranges::find(out, one.dtype, &tolerance_choice::dtype);
    if (known == out.end()) {
      known = out.insert(out.end(), {one.dtype, -1, -1, -1});
    }
    (one.key == "atol" ? known->atol : one.key == "rtol" ? known->rtol : known->norm) = one.value;
  }
  return out;
}

}  // namespace

judge_terms terms_of(const settings& values) {
  judge_terms out;
  out.is_eval = values.flag("eval");
  out.allow_tf32 = values.flag("allow-tf32");
  out.wants_timing = values.flag("timing");
  out.policy_off = values.list("policy-off");
  out.trials = static_cast<std::uint32_t>(values.integer("trials"));
  out.tolerances = tolerances_of(values.list("tolerance"));
  out.architectures = values.list("architecture");
  out.allow_weak = values.flag("allow-weak");
  return out;
}

race_spec plan_race(const settings& values, const race_models& models, stage_spec stage, problem_spec problem,
                    const race_id& id, const std::string& state_dir) {
  race_spec out;
  out.race = id;
  out.workers = plan_workers(values, models, stage.variants.size());
  out.stage = std::move(stage);
  out.problem = std::move(problem);
  out.rounds = static_cast<std::uint32_t>(values.integer("max-iters"));
  out.accept = from_name<accept_rule>(values.text("accept")).value_or(accept_rule::claimed);
  out.on_duplicate = from_name<duplicate_policy>(values.text("on-duplicate")).value_or(duplicate_policy::reprompt);
  out.device = from_name<device_need>(values.text("device")).value_or(device_need::any);
  out.limits = limits_of(values);
  out.keep = values.list("keep");
  out.judging = terms_of(values);
  out.deadline = std::chrono::seconds{values.seconds("deadline")};
  out.run_dir = state_dir + "/" + id.text;
  out.budget = budgets_of(values).race;
  return out;
}

}  // namespace regatta::cli
