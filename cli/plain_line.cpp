// SPDX-License-Identifier: Apache-2.0
#include "cli/end_words.hpp"
#include "cli/progress.hpp"
#include "cli/terminal_text.hpp"

namespace regatta::cli {

namespace {

using line = std::optional<std::string>;

std::string at(const worker_id& worker, std::uint32_t round) {
  return worker.text + " round " + std::to_string(round) + ": ";
}

std::string with_note(const std::string& text, const std::string& note) {
  return note.empty() ? text : text + ": " + clean_line(note);
}

line said(const race_started& x) {
  return "race " + x.spec.race.text + " on " + clean_line(x.spec.problem.name) + ": " +
         std::to_string(x.spec.workers.size()) + " workers, at most " + std::to_string(x.spec.rounds) +
         " rounds, stage " + x.spec.stage.name;
}
line said(const worker_started& x) {
  const auto model = x.choice.model.empty() ? x.choice.provider : x.choice.model;
  return x.worker.text + " started" + (x.start > 1 ? " again" : "") + " on " + clean_line(x.node.text) + ": " +
         clean_line(model) + ", variant " + std::to_string(x.variant + 1);
}
line said(const worker_moved& x) {
  // Without a note it says only what the facts around it say.
  return x.note.empty() ? line{} : at(x.worker, x.round) + to_string(x.phase) + ", " + clean_line(x.note);
}
line said(const prompt_sent& x) {
  return at(x.worker, x.round) + "asking " + clean_line(x.choice.model);
}
line said(const reply_delta&) {
  return {};
}
line said(const reply_ended& x) {
  std::string tokens;
  if (x.usage.output_tokens) {
    tokens =
        ", " + short_count(x.usage.input_tokens.value_or(0)) + " + " + short_count(*x.usage.output_tokens) + " tokens";
  }
  return at(x.worker, x.round) + with_note(to_string(x.outcome), x.error) + tokens + ", " + short_time(x.elapsed);
}
line said(const code_extracted& x) {
  return at(x.worker, x.round) + with_note("code " + to_string(x.result), x.note);
}
line said(const candidate_reserved& x) {
  if (x.duplicate == duplicate::unique) {
    return {};
  }
  return at(x.worker, x.round) + to_string(x.duplicate) + " (first: " + x.owner.text + ")";
}
line said(const candidate_evaluated& x) {
  return at(x.worker, x.round) + verdict_line(x.result) + ", " + short_time(x.result.elapsed) + " on " +
         clean_line(x.result.slot) + " (" + clean_line(x.result.engine) + ", sandbox " +
         clean_line(x.result.sandbox_level) + ")";
}
line said(const round_failed& x) {
  return at(x.worker, x.round) + "failed: " + clean_line(x.why);
}
line said(const worker_finished& x) {
  return with_note(x.worker.text + " ended, " + to_string(x.end), x.reason);
}
line said(const winner_decided& x) {
  return "winner: " + x.worker.text + " in round " + std::to_string(x.round) + ", " + x.standing;
}
line said(const runner_up& x) {
  return "runner-up: " + x.worker.text + " in round " + std::to_string(x.round);
}
line said(const race_cancelled& x) {
  return "stopped (" + clean_line(x.why) + "): " + std::to_string(x.runs) + " runs, " + std::to_string(x.workers) +
         " workers, " + std::to_string(x.prompts) + " calls";
}
line said(const race_ended& x) {
  const auto end = to_string(x.end);
  return with_note("race ended, " + end_words(end, x.reason), end_note(end, x.reason));
}
line said(const race_resumed& x) {
  return "resumed: " + std::to_string(x.workers) + " workers go on, " + std::to_string(x.replies) + " replies and " +
         std::to_string(x.evaluations) + " evaluations are on record";
}

}  // namespace

std::optional<std::string> plain_line(const event& x) {
  return std::visit([](const auto& body) { return said(body); }, x.body);
}

}  // namespace regatta::cli
