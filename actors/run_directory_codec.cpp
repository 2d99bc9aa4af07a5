// SPDX-License-Identifier: Apache-2.0
#include "actors/run_directory_codec.hpp"

#include "actors/money_text.hpp"
#include "messages/codec.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace regatta {

namespace {

using json = nlohmann::ordered_json;

std::string dump(const json& x) {
  return x.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Any struct of ours under the names that events use.
json as_json(const auto& x) {
  return json::from_msgpack(encode(x), true, false);
}

json or_null(const std::string& x) {
  return x.empty() ? json{} : json(x);
}

double seconds(std::int64_t at_us) {
  return static_cast<double>(at_us) / 1e6;
}

double milliseconds(std::chrono::microseconds x) {
  return static_cast<double>(x.count()) / 1e3;
}

double in_units(nano_units x) {
  return static_cast<double>(x) / static_cast<double>(nano_per_unit);
}

std::string platform_of(device_need x) {
  return x == device_need::cpu ? "cpu" : "cuda";
}

json winner_entry(const winner_tally& x) {
  return {{"worker_id", x.worker.text}, {"round", x.round}, {"digest", x.digest.text}};
}

json worker_entry(const worker_tally& x) {
  return {{"worker_id", x.spec.worker.text},
          {"end", x.end ? json(name_of(*x.end)) : json{}},
          {"reason", x.reason},
          {"last_failure", or_null(x.last_why)},
          {"rounds", x.round},
          {"starts", x.starts},
          {"node", or_null(x.node)},
          {"provider", x.spec.choice.provider},
          {"model", x.spec.choice.model},
          {"temperature", as_json(x.spec.choice.temperature)},
          {"seed", as_json(x.spec.choice.seed)},
          {"variant", x.spec.variant},
          {"llm_calls", x.llm_calls},
          {"evaluations", x.evaluations},
          {"input_tokens", x.input_tokens},
          {"output_tokens", x.output_tokens},
          {"cost", in_units(x.cost)},
          {"lost_in_flight", x.lost_in_flight}};
}

json workers_by_number(const race_tally& race) {
  std::vector<const worker_tally*> order;
  for (const auto& entry : race.workers) {
    order.push_back(&entry.second);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->spec.number < b->spec.number; });
  auto out = json::array();
  for (const auto* worker : order) {
    out.push_back(worker_entry(*worker));
  }
  return out;
}

/// The fields of KernelAgent's OrchestratorConfig that Regatta has, under their names.
json kernelagent_config(const race_spec& spec) {
  return {{"problem_path", spec.problem.path},
          {"model", spec.workers.empty() ? json{} : json(spec.workers.front().choice.model)},
          {"workers", spec.workers.size()},
          {"max_iters", spec.rounds},
          {"run_timeout_s", static_cast<double>(spec.limits.wall.count()) / 1e3},
          {"stream_mode", "all"},
          {"target_platform", platform_of(spec.device)}};
}

void add_winner(json& out, const race_tally& race, const race_ended& ended) {
  const bool is_packed = race.packaging_failure.empty();
  out["winner_worker_id"] = race.winner ? json(race.winner->worker.text) : json{};
  out["artifact_path"] = is_packed ? or_null(race.artifact_path) : json{};
  out["reason"] = is_packed ? ended.reason : "packaging_failure: " + race.packaging_failure;
}

void add_place(json& out, const race_tally& race) {
  const auto place = race.place.value_or(run_place{});
  out["node"] = or_null(place.node);
  out["slot"] = or_null(place.slot);
  out["gpu_uuid"] = or_null(place.gpu_uuid);
  out["engine"] = or_null(place.engine);
  out["sandbox_level"] = or_null(place.sandbox_level);
}

}  // namespace

std::string metadata_json(const race_tally& race) {
  const auto& spec = race.spec;
  auto config = kernelagent_config(spec);
  config["stage"] = {{"name", spec.stage.name}, {"digest", spec.stage.digest}};
  config["problem"] = {{"name", spec.problem.name}, {"digest", spec.problem.digest}};
  config["accept"] = name_of(spec.accept);
  config["on_duplicate"] = name_of(spec.on_duplicate);
  config["device"] = name_of(spec.device);
  config["limits"] = as_json(spec.limits);
  config["keep"] = spec.keep;
  config["deadline_s"] = spec.deadline.count();
  config["worker_specs"] = as_json(spec.workers);
  return dump({{"run_id", race.race.text},
               {"config", config},
               {"schema_version", run_directory_schema_version},
               {"version", race.version},
               {"started", seconds(race.started_us)}});
}

std::string state_json(const worker_tally& worker) {
  return dump({{"worker_id", worker.spec.worker.text},
               {"iter_index", worker.round},
               {"last_response_id", or_null(worker.last_response_id)},
               {"last_error", or_null(worker.last_error)},
               {"passed", worker.has_passed},
               {"end", worker.end ? json(name_of(*worker.end)) : json{}}});
}

std::string reply_json(const reply_ended& reply) {
  return dump({{"output_text", reply.text},
               {"response_id", or_null(reply.response_id)},
               {"error", or_null(reply.error)},
               {"outcome", name_of(reply.outcome)},
               {"finish_reason", or_null(reply.finish_reason)},
               {"attempt", reply.attempt},
               {"tries", reply.tries},
               {"http_status", reply.http_status},
               {"usage", as_json(reply.usage)},
               {"cost", in_units(reply.cost)},
               {"basis", name_of(reply.basis)},
               {"is_known", reply.is_known},
               {"first_text_ms", reply.first_text.count()},
               {"elapsed_ms", reply.elapsed.count()}});
}

std::string stream_record(const std::string& kind, const std::string& key, const std::string& text,
                          std::int64_t at_us) {
  const json record = {{"ts", seconds(at_us)}, {"kind", kind}, {"data", {{key, text}}}};
  return record.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string digest_json(const candidate_reserved& candidate, std::int64_t at_us) {
  return dump({{"sha256", candidate.digest.text},
               {"owner_worker_id", candidate.worker.text},
               {"iter", candidate.round},
               {"ts", seconds(at_us)}});
}

std::string evaluation_json(const evaluation& result, std::uint32_t attempt, const source_digest& digest,
                            bool is_accepted) {
  auto out = as_json(result);
  // Their bytes lie in files beside this one.
  out.erase("stdout_text");
  out.erase("stderr_text");
  for (auto& file : out["kept"]) {
    file.erase("content");
  }
  json head = {{"schema_version", run_directory_schema_version},
               {"attempt", attempt},
               {"digest", digest.text},
               {"is_accepted", is_accepted}};
  head.update(out);
  return dump(head);
}

std::string summary_json(const race_tally& race, const race_ended& ended) {
  json out = {{"run_id", race.race.text}};
  add_winner(out, race, ended);
  out["schema_version"] = run_directory_schema_version;
  out["version"] = race.version;
  out["end"] = name_of(ended.end);
  out["standing"] = race.winner ? json(race.winner->standing) : json{};
  out["winner_round"] = race.winner ? json(race.winner->round) : json{};
  out["winner_digest"] = race.winner ? json(race.winner->digest.text) : json{};
  out["unproven"] = race.unproven ? winner_entry(*race.unproven) : json{};
  out["problem"] = {
      {"name", race.spec.problem.name}, {"path", race.spec.problem.path}, {"digest", race.spec.problem.digest}};
  out["stage"] = race.spec.stage.name;
  out["accept"] = name_of(race.spec.accept);
  add_place(out, race);
  out["started"] = seconds(race.started_us);
  out["decided_ms"] = milliseconds(ended.decided);
  out["cancel_ms"] = milliseconds(ended.cancelled);
  out["quiet_ms"] = milliseconds(ended.quiet);
  out["timing"] = ended.timing.empty() ? json{} : json::parse(ended.timing, nullptr, false);
  out["not_timed"] = ended.not_timed.empty() ? json{} : json(ended.not_timed);
  out["elapsed_ms"] = milliseconds(ended.elapsed);
  out["unconfirmed_nodes"] = as_json(ended.unconfirmed_nodes);
  out["totals"] = {{"llm_calls", ended.llm_calls},
                   {"evaluations", ended.evaluations},
                   {"input_tokens", ended.input_tokens},
                   {"output_tokens", ended.output_tokens},
                   {"runners_up", ended.runners_up},
                   {"cost", in_units(ended.cost)},
                   {"reserved_cost", in_units(ended.reserved_cost)},
                   {"lost_in_flight", ended.lost_in_flight},
                   {"resumes", ended.resumes}};
  out["budget"] = {{"money", race.spec.budget.money == 0 ? json{} : json(in_units(race.spec.budget.money))},
                   {"tokens", race.spec.budget.tokens == 0 ? json{} : json(race.spec.budget.tokens)}};
  out["runners_up"] = json::array();
  for (const auto& x : race.runners_up) {
    out["runners_up"].push_back(winner_entry(x));
  }
  out["workers"] = workers_by_number(race);
  return dump(out);
}

}  // namespace regatta
