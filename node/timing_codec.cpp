// SPDX-License-Identifier: Apache-2.0
#include "node/timing_codec.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace regatta {

namespace {

using nlohmann::json;

json gpu_of(const gpu_activity& x) {
  return {{"samples", x.samples},           {"sm_mhz", {x.least_clock_mhz, x.most_clock_mhz}},
          {"temperature", x.hottest},       {"throttle", throttle_names(x.reasons)},
          {"processes", x.most_processes},  {"busy_before_percent", x.busy_before}};
}

void add_flags(json& flags, const std::vector<std::string>& more) {
  if (!flags.is_array()) {
    flags = json::array();
  }
  for (const auto& each : more) {
    if (std::find(flags.begin(), flags.end(), each) == flags.end()) {
      flags.push_back(each);
    }
  }
}

}  // namespace

std::string timing_record_of(std::string_view verdict, const run& what, const timing_surroundings& around) {
  const auto found = json::parse(verdict, nullptr, false);
  const auto timing = found.is_object() ? found.find("timing") : found.end();
  if (timing == found.end() || !timing->is_object()) {
    return {};
  }
  auto out = *timing;
  for (const auto* key : {"judge_version", "engine", "mode", "problem_sha256", "reference", "candidate"}) {
    if (found.contains(key)) {
      out[key] = found.at(key);
    }
  }
  out["candidate_sha256"] = what.digest.text;
  out["allow_tf32"] = what.judging.allow_tf32;
  out["device"] = around.device;
  out["gpu_uuid"] = around.gpu_uuid;
  out["other_cpu_share"] = around.other_cpu ? json(*around.other_cpu) : json();
  out["gpu"] = around.gpu ? gpu_of(*around.gpu) : json();
  add_flags(out["flags"], flags_of(around));
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace regatta
