// SPDX-License-Identifier: Apache-2.0
#include "node/clean_text.hpp"
#include "node/compile_check.hpp"
#include "node/sandbox_launcher.hpp"
#include "sandbox/interpreter.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace regatta {

namespace {

using nlohmann::json;

constexpr const char* program_file = "candidate_main.py";
constexpr const char* launches_file = "launches.json";
constexpr const char* compiled_file = "compiled.json";
constexpr std::size_t most_compiled = 128;
constexpr std::size_t most_words = 300, most_detail = 4000;

std::string words_at(const json& from, const char* key, std::size_t most) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? clean_text(at->get_ref<const std::string&>().substr(0, most)) : std::string{};
}

/// What the compiler's process wrote; that process ran the candidate, so it is looked at piece by piece.
json compiled_in(const sandbox::run_result& compiler) {
  const auto file = std::ranges::find(compiler.kept, compiled_file, &sandbox::kept_artifact::name);
  const auto found = file == compiler.kept.end() ? json() : json::parse(file->content, nullptr, false);
  auto out = json::array();
  for (const auto& x : found.is_array() ? found : json::array()) {
    if (x.is_object() && out.size() < most_compiled) {
      out.push_back({{"kernel", words_at(x, "kernel", most_words)}, {"architecture", words_at(x, "architecture", most_words)},
                     {"status", words_at(x, "status", most_words)}, {"reason", words_at(x, "reason", most_words)},
                     {"detail", words_at(x, "detail", most_detail)}});
    }
  }
  return out;
}

void refuse(judged_end& end, const json& refused) {
  const auto architecture = refused.at("architecture").get<std::string>();
  const auto what = architecture + " refuses kernel " + refused.at("kernel").get<std::string>() + ": " +
                    refused.at("reason").get<std::string>();
  const auto detail = refused.at("detail").get<std::string>();
  end.judgement = judgement::compile_failed;
  end.run.reason = what;
  end.feedback = "The results are right under Triton's interpreter, but Triton's compiler refuses your kernel for " + architecture +
                 ":\n" + (detail.empty() ? what : detail) + "\n";
}

}  // namespace

std::string launches_in(const judged_end& judged) {
  const bool is_right = judged.judgement == judgement::correct || judged.judgement == judgement::weak_oracle;
  const auto record = is_right ? json::parse(judged.record, nullptr, false) : json();
  const auto launched = record.is_object() ? record.find("launched") : record.end();
  return launched != record.end() && launched->is_array() && !launched->empty() ? launched->dump() : std::string{};
}

sandbox::run_spec compile_spec(const judge_kit& kit, const judge_place& place, const std::string& candidate,
                               const std::string& launches, const std::vector<std::string>& architectures) {
  sandbox::run_spec spec;
  spec.argv = {place.python.executable, "-s", "-B", "-u", "compile_side.py", "--candidate", program_file,
               "--launches", launches_file, "--out", compiled_file};
  for (const auto& each : architectures) {
    spec.argv.insert(spec.argv.end(), {"--architecture", each});
  }
  auto host = place.host_environment;
  host.erase("CUDA_VISIBLE_DEVICES");
  host.erase("TRITON_INTERPRET");
  spec.environment = sandbox::candidate_environment(host, {});
  spec.files = kit.side_files;
  spec.files.push_back({program_file, candidate});
  spec.files.push_back({launches_file, launches});
  spec.keep = {compiled_file};
  spec.readable = place.python.readable;
  spec.limits = place.limits;
  ask_for_warmth(spec, nullptr, {candidate});
  return spec;
}

judged_end with_compiled(judged_end judged, const sandbox::run_result& compiler) {
  judged.run.cpu_time += compiler.cpu_time;
  judged.run.elapsed += compiler.elapsed;
  if (compiler.outcome == outcome::cancelled) {
    judged.run.outcome = outcome::cancelled;
    judged.run.reason = compiler.reason;
    judged.judgement = judgement::not_judged;
    return judged;
  }
  auto record = json::parse(judged.record, nullptr, false);
  auto compiled = compiled_in(compiler);
  if (compiled.empty()) {
    compiled = json::array({{{"kernel", ""}, {"architecture", ""}, {"status", "untold"},
                             {"reason", to_string(compiler.outcome) + ": " + clean_text(compiler.reason)}, {"detail", ""}}});
  }
  const auto refused = std::find_if(compiled.begin(), compiled.end(), [](const json& x) { return x.at("status") == "refused"; });
  if (refused != compiled.end()) {
    refuse(judged, *refused);
    record["judgement"] = to_string(judged.judgement);
    record["reason"] = judged.run.reason;
    record["feedback"] = judged.feedback;
  }
  record["compiled"] = std::move(compiled);
  judged.record = record.dump(-1, ' ', false, json::error_handler_t::replace);
  return judged;
}

}  // namespace regatta
