// SPDX-License-Identifier: Apache-2.0
#include "actors/run_directory.hpp"

#include "actors/run_directory_codec.hpp"
#include "actors/run_log.hpp"

#include <array>
#include <cstdio>
#include <utility>
#include <variant>

namespace regatta {

namespace {

std::string folder_of(const worker_id& worker) {
  return "workers/" + safe_component(worker.text);
}

std::string iteration(std::uint32_t round) {
  return "iteration_" + std::to_string(round);
}

/// KernelAgent's shape `attempt_<ms>_<pid>_<4 digits>`; the events' own numbers stand for pid and random digits, so
/// that the same events always make the same names.
std::string attempt_folder(const evaluation& result, std::int64_t at_us, std::uint64_t seq, std::uint32_t attempt) {
  const auto started_us = result.started_us != 0 ? result.started_us : at_us - result.elapsed.count();
  std::array<char, 96> name{};
  std::snprintf(name.data(), name.size(), "attempt_%lld_%llu_%04u", static_cast<long long>(started_us / 1000),
                static_cast<unsigned long long>(seq), attempt);
  return name.data();
}

std::string epoch_text(std::int64_t at_us) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%lld.%06lld", static_cast<long long>(at_us / 1'000'000),
                static_cast<long long>(at_us % 1'000'000));
  return text.data();
}

/// The files of one run, named below its `attempt_…` folder.
std::vector<archive_member> run_files(const evaluation& result, const std::string& code, const std::string& record) {
  std::vector<archive_member> files = {{"candidate_main.py", code},
                                       {"stdout.txt", result.stdout_text},
                                       {"stderr.txt", result.stderr_text},
                                       {"evaluation.json", record}};
  if (!result.judge_record.empty()) {
    files.push_back({"verdict.json", result.judge_record + "\n"});
  }
  if (result.started_us != 0) {
    files.push_back({"EXEC_STARTED", epoch_text(result.started_us)});
    files.push_back({"EXEC_FINISHED", epoch_text(result.started_us + result.elapsed.count())});
  }
  for (const auto& file : result.kept) {
    if (file.problem.empty()) {
      files.push_back({"artifacts/" + safe_component(file.name), file.content});
    }
  }
  return files;
}

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

run_place place_of(const evaluation& x) {
  return {x.node, x.slot, x.gpu_uuid, x.engine, x.sandbox_level};
}

race_tally tally_of(const event& head, const race_started& start) {
  race_tally race;
  race.race = head.race;
  race.spec = start.spec;
  race.spec.problem.text.clear();
  race.spec.stage.system.clear();
  race.spec.stage.body.clear();
  race.spec.stage.variants.clear();
  race.version = start.version;
  race.started_us = head.at_us;
  for (const auto& spec : start.spec.workers) {
    race.workers[spec.worker].spec = spec;
  }
  return race;
}

}  // namespace

run_directory::run_directory(std::string folder, const event& head, const race_started& start)
    : race_{tally_of(head, start)}, files_{std::move(folder)} {
  files_.put("orchestrator/metadata.json", metadata_json(race_), file_care::lasting);
}

void run_directory::apply(const event& x) {
  log(x);
  std::visit([&](const auto& body) { on(x, body); }, x.body);
}

void run_directory::restore(const event& x) {
  is_restoring_ = true;
  std::visit([&](const auto& body) { on(x, body); }, x.body);
  is_restoring_ = false;
}

void run_directory::append(const std::string& path, const std::string& text) {
  if (!is_restoring_) {
    files_.append(path, text);
  }
}

void run_directory::log(const event& x) {
  const auto line = line_of(x.body);
  if (line.empty()) {
    return;
  }
  const auto owner = worker_of(x.body);
  const auto file = owner.empty() ? "orchestrator/orchestrator.log" : folder_of(owner) + "/logs/worker.log";
  append(file, utc_text(x.at_us) + " INFO " + line + "\n");
}

worker_tally& run_directory::worker(const worker_id& id) {
  auto& found = race_.workers[id];
  found.spec.worker = id;
  return found;
}

void run_directory::put_state(const worker_id& id) {
  files_.put(folder_of(id) + "/state.json", state_json(worker(id)));
}

void run_directory::put_run(const std::string& folder, const std::vector<archive_member>& files) {
  for (const auto& file : files) {
    if (is_restoring_ && file.path.starts_with("artifacts/")) {
      // Their bytes are not in the record of events.
      continue;
    }
    files_.put(folder + "/" + file.path, file.content);
  }
}

void run_directory::on(const event&, const race_started&) {}

void run_directory::on(const event&, const worker_started& body) {
  auto& it = worker(body.worker);
  it.node = body.node.text;
  it.starts = body.start;
  it.spec.variant = body.variant;
  it.spec.choice = body.choice;
  it.end.reset();
  it.reason.clear();
  put_state(body.worker);
}

void run_directory::on(const event&, const worker_moved&) {}

void run_directory::on(const event& x, const prompt_sent& body) {
  auto& it = worker(body.worker);
  it.round = body.round;
  ++it.llm_calls;
  const auto folder = folder_of(body.worker);
  files_.put(folder + "/prompts/" + iteration(body.round) + ".txt", body.user);
  append(folder + "/responses/" + iteration(body.round) + ".stream.jsonl",
                stream_record("stream_started", "model", body.choice.model, x.at_us));
  put_state(body.worker);
}

void run_directory::on(const event& x, const reply_delta& body) {
  append("orchestrator/stream.log", "[" + body.worker.text + "] " + without_controls(body.text) + "\n");
  append(folder_of(body.worker) + "/responses/" + iteration(body.round) + ".stream.jsonl",
                stream_record("response.output_text.delta", "delta", body.text, x.at_us));
}

void run_directory::on(const event& x, const reply_ended& body) {
  auto& it = worker(body.worker);
  it.last_response_id = body.response_id;
  if (!body.is_known) {
    it.input_tokens += body.usage.input_tokens.value_or(0);
    it.output_tokens += body.usage.output_tokens.value_or(0);
    it.cost += body.cost;
    it.lost_in_flight += body.lost_in_flight;
  } else if (it.llm_calls > 0) {
    // Its prompt was told again, but nobody was asked.
    --it.llm_calls;
  }
  const auto file = folder_of(body.worker) + "/responses/" + iteration(body.round);
  files_.put(file + ".final.json", reply_json(body));
  append(file + ".stream.jsonl", stream_record("stream_ended", "outcome", to_string(body.outcome), x.at_us));
}

void run_directory::on(const event&, const code_extracted& body) {
  if (body.result != extraction::found) {
    return;
  }
  worker(body.worker).code = body.code;
  const auto folder = folder_of(body.worker) + "/artifacts/";
  files_.put(folder + iteration(body.round) + "/code.py", body.code);
  files_.put(folder + "latest/code.py", body.code);
}

void run_directory::on(const event& x, const candidate_reserved& body) {
  if (body.duplicate == duplicate::unique && is_sha256(body.digest.text)) {
    files_.put("shared/digests/" + body.digest.text + ".json", digest_json(body, x.at_us));
  }
}

void run_directory::on(const event& x, const candidate_evaluated& body) {
  auto& it = worker(body.worker);
  ++it.evaluations;
  it.run_folder = attempt_folder(body.result, x.at_us, x.seq, body.attempt);
  it.run_round = body.round;
  it.run_attempt = body.attempt;
  it.has_passed = it.has_passed || body.is_accepted;
  if (is_unproven(verdict_of(body.result), race_.spec.accept) && !race_.unproven) {
    race_.unproven = {body.worker, body.round, body.digest, "unproven"};
    race_.unproven_code = it.code;
  }
  if (!race_.winner) {
    race_.place = place_of(body.result);
  }
  const auto record = evaluation_json(body.result, body.attempt, body.digest, body.is_accepted);
  put_run(folder_of(body.worker) + "/runs/" + iteration(body.round) + "/" + it.run_folder,
          run_files(body.result, it.code, record));
  put_state(body.worker);
}

void run_directory::on(const event&, const round_failed& body) {
  auto& it = worker(body.worker);
  it.round = body.round;
  it.last_error = body.error_context;
  it.last_why = body.why;
  put_state(body.worker);
}

void run_directory::on(const event&, const worker_finished& body) {
  auto& it = worker(body.worker);
  it.end = body.end;
  it.reason = body.reason;
  it.code.clear();
  put_state(body.worker);
}

void run_directory::on(const event& x, const winner_decided& body) {
  race_.winner = {body.worker, body.round, body.digest, body.standing};
  race_.place = place_of(body.result);
  worker(body.worker).has_passed = true;
  put_state(body.worker);
  files_.put("orchestrator/winner/worker_id.txt", body.worker.text, file_care::lasting);
  files_.put("orchestrator/winner/iter.txt", std::to_string(body.round), file_care::lasting);
  if (!is_restoring_) {
    pack(x, body);
  }
}

void run_directory::pack(const event& x, const winner_decided& body) {
  const auto& it = worker(body.worker);
  const bool has_run = !it.run_folder.empty() && it.run_round == body.round;
  const auto attempt = has_run ? it.run_attempt : 1;
  const auto folder = has_run ? it.run_folder : attempt_folder(body.result, x.at_us, x.seq, attempt);
  std::vector<archive_member> members = {{"code.py", body.code}};
  for (auto& file : run_files(body.result, body.code, evaluation_json(body.result, attempt, body.digest, true))) {
    members.push_back({"runs/" + folder + "/" + file.path, std::move(file.content)});
  }
  constexpr auto file_name = "result.tar.gz";
  file_batch now{files_.root()};
  auto bytes = make_result_archive(std::move(members), x.at_us / 1'000'000);
  auto error = bytes ? caf::error{} : bytes.error();
  if (!error) {
    now.put(file_name, std::move(*bytes), file_care::lasting);
    error = now.flush();
  }
  race_.packaging_failure = error ? text_of(error) : "";
  race_.artifact_path = error ? "" : files_.root() + "/" + file_name;
}

void run_directory::on(const event&, const runner_up& body) {
  race_.runners_up.push_back({body.worker, body.round, body.digest, {}});
  worker(body.worker).has_passed = true;
  put_state(body.worker);
}

void run_directory::on(const event&, const race_cancelled&) {}

/// The files of its former process stand; what follows is added to them.
void run_directory::on(const event&, const race_resumed& body) {
  race_.spec.rounds = body.rounds;
  race_.spec.deadline = body.deadline;
  race_.spec.budget = body.budget;
}

void run_directory::on(const event&, const race_ended& body) {
  if (is_restoring_) {
    // It went on after that.
    return;
  }
  if (body.unproven.empty()) {
    race_.unproven.reset();
  } else if (race_.unproven) {
    files_.put("orchestrator/unproven/worker_id.txt", race_.unproven->worker.text, file_care::lasting);
    files_.put("orchestrator/unproven/iter.txt", std::to_string(race_.unproven->round), file_care::lasting);
    files_.put("orchestrator/unproven/code.py", race_.unproven_code, file_care::lasting);
  }
  if (!body.timing.empty()) {
    files_.put("orchestrator/winner/timing.json", body.timing + "\n", file_care::lasting);
  }
  files_.put("orchestrator/summary.json", summary_json(race_, body), file_care::lasting);
}

}  // namespace regatta
