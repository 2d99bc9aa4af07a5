// SPDX-License-Identifier: Apache-2.0
#include "cli/account.hpp"
#include "cli/timing_codec.hpp"

#include <nlohmann/json.hpp>

namespace regatta::cli {

namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 1;

template <class T>
json or_null(const std::optional<T>& x) {
  return x ? json(*x) : json(nullptr);
}
json text_or_null(const std::string& x) {
  return x.empty() ? json(nullptr) : json(x);
}

json to_json(const race_row& x) {
  return {{"run_id", x.race.text},
          {"problem", x.problem},
          {"problem_path", x.problem_path},
          {"problem_digest", x.problem_digest},
          {"stage", x.stage},
          {"accept", x.accept},
          {"run_dir", x.run_dir},
          {"version", x.version},
          {"workers", x.workers},
          {"rounds", x.rounds},
          {"started_us", x.started_us},
          {"ended_us", x.ended_us},
          {"end", text_or_null(x.end)},
          {"reason", x.reason},
          {"winner_worker_id", text_or_null(x.winner.text)},
          {"winner_round", x.winner_round},
          {"winner_digest", text_or_null(x.winner_digest.text)},
          {"standing", text_or_null(x.standing)},
          {"artifact_path", text_or_null(x.artifact_path)},
          {"decided_us", x.decided.count()},
          {"cancel_us", x.cancelled.count()},
          {"quiet_us", x.quiet.count()},
          {"elapsed_us", x.elapsed.count()},
          {"input_tokens", x.input_tokens},
          {"output_tokens", x.output_tokens},
          {"llm_calls", x.llm_calls},
          {"evaluations", x.evaluations},
          {"runners_up", x.runners_up},
          {"cost_nano", x.cost},
          {"reserved_cost_nano", x.reserved_cost},
          {"budget_nano", x.budget.money},
          {"budget_tokens", x.budget.tokens},
          {"currency", text_or_null(x.currency)},
          {"lost_in_flight", x.lost_in_flight},
          {"in_flight_nano", x.in_flight},
          {"resumes", x.resumes},
          {"unconfirmed_nodes", x.unconfirmed_nodes}};
}

json to_json(const model_choice& x) {
  return {
      {"provider", x.provider}, {"model", x.model}, {"temperature", or_null(x.temperature)}, {"seed", or_null(x.seed)}};
}

json to_json(const worker_row& x) {
  return {{"worker", x.worker.text},
          {"variant", x.variant},
          {"choice", to_json(x.choice)},
          {"node", x.node},
          {"starts", x.starts},
          {"round", x.round},
          {"phase", x.phase},
          {"end", text_or_null(x.end)},
          {"reason", x.reason},
          {"llm_calls", x.llm_calls},
          {"evaluations", x.evaluations},
          {"input_tokens", x.input_tokens},
          {"output_tokens", x.output_tokens},
          {"cost_nano", x.cost},
          {"lost_in_flight", x.lost_in_flight}};
}

json to_json(const round_row& x) {
  return {{"worker", x.worker.text},
          {"round", x.round},
          {"extraction", text_or_null(x.extraction)},
          {"extraction_note", x.extraction_note},
          {"digest", text_or_null(x.digest.text)},
          {"duplicate", text_or_null(x.duplicate)},
          {"duplicate_of", text_or_null(x.duplicate == "unique" ? "" : x.duplicate_of.text)},
          {"why", x.why},
          {"has_won", x.has_won},
          {"was_accepted", x.was_accepted}};
}

/// JSON in the store is the comparator's own.
json parsed(const std::string& text) {
  auto out = json::parse(text, nullptr, false);
  return out.is_discarded() ? json(nullptr) : out;
}

json verdict_json(const evaluation_row& x) {
  if (x.judge_version == 0) {
    return nullptr;
  }
  return {{"judge_version", x.judge_version}, {"kernel_evidence", x.kernel_evidence}, {"marks", parsed(x.marks)},
          {"tightened", parsed(x.tightened)}, {"tolerances", parsed(x.tolerances)},   {"trials", parsed(x.trials)},
          {"compiled", parsed(x.compiled)},   {"worst_rel", x.worst_rel},             {"norm", x.norm},
          {"eager_norm", x.eager_norm}};
}

json to_json(const evaluation_row& x) {
  return {{"worker", x.worker.text},
          {"round", x.round},
          {"attempt", x.attempt},
          {"digest", x.digest.text},
          {"outcome", x.outcome},
          {"claim", x.claim},
          {"judgement", x.judgement},
          {"is_accepted", x.is_accepted},
          {"exit_code", x.exit_code},
          {"signal", x.signal},
          {"reason", x.reason},
          {"node", x.node},
          {"slot", x.slot},
          {"gpu_uuid", text_or_null(x.gpu_uuid)},
          {"engine", x.engine},
          {"sandbox_level", x.sandbox_level},
          {"started_us", x.started_us},
          {"queued_us", x.queued.count()},
          {"elapsed_us", x.elapsed.count()},
          {"killed_in_us", x.killed_in.count()},
          {"cpu_time_us", x.cpu_time.count()},
          {"peak_memory_bytes", x.peak_memory},
          {"verdict", verdict_json(x)}};
}

json to_json(const llm_call_row& x) {
  return {{"worker", x.worker.text},
          {"round", x.round},
          {"attempt", x.attempt},
          {"choice", to_json(x.choice)},
          {"prompt_digest", x.prompt_digest},
          {"outcome", text_or_null(x.outcome)},
          {"finish_reason", x.finish_reason},
          {"error", x.error},
          {"http_status", x.http_status},
          {"tries", x.tries},
          {"input_tokens", or_null(x.usage.input_tokens)},
          {"output_tokens", or_null(x.usage.output_tokens)},
          {"try", x.try_number},
          {"wire", text_or_null(x.wire)},
          {"reserved_nano", x.reserved},
          {"cost_nano", x.cost},
          {"basis", text_or_null(x.basis)},
          {"charged_tokens", x.charged_tokens},
          {"is_answer", x.is_answer},
          {"sent_us", x.sent_us},
          {"first_text_ms", x.first_text.count()},
          {"elapsed_ms", x.elapsed.count()}};
}

bool is_wanted(const account_options& options, const worker_id& worker, std::uint32_t round) {
  return (options.only_worker.empty() || options.only_worker == worker) &&
         (options.only_round == 0 || round == 0 || options.only_round == round);
}

template <class Row>
json list_of(const std::vector<Row>& rows, const account_options& options) {
  auto out = json::array();
  for (const auto& row : rows) {
    std::uint32_t round = 0;
    if constexpr (!std::is_same_v<Row, worker_row>) {
      round = row.round;
    }
    if (is_wanted(options, row.worker, round)) {
      out.push_back(to_json(row));
    }
  }
  return out;
}

/// Models and candidates write what they like; JSON must be UTF-8.
std::string dumped(const json& x) {
  return x.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string account_json(const race_record& record, const account_options& options) {
  return dumped({{"schema_version", schema_version},
                 {"race", to_json(record.race)},
                 {"timing", json::parse(timing_json(record.timing), nullptr, false)},
                 {"workers", list_of(record.workers, options)},
                 {"rounds", list_of(record.rounds, options)},
                 {"evaluations", list_of(record.evaluations, options)},
                 {"llm_calls", list_of(record.llm_calls, options)}});
}

std::string list_json(const std::vector<race_row>& races) {
  auto out = json::array();
  for (const auto& race : races) {
    out.push_back(to_json(race));
  }
  return dumped({{"schema_version", schema_version}, {"races", out}});
}

}  // namespace regatta::cli
