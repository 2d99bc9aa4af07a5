// SPDX-License-Identifier: Apache-2.0
#include "cli/account.hpp"

#include "actors/money_text.hpp"
#include "cli/end_words.hpp"
#include "cli/progress.hpp"
#include "cli/terminal_text.hpp"
#include "cli/timing_codec.hpp"

#include <algorithm>
#include <ctime>
#include <set>

namespace regatta::cli {

namespace {

/// A reason longer than this belongs into the files, not into a list.
constexpr std::size_t reason_columns = 160;

std::string short_line(const std::string& text) {
  return cut_to(clean_line(text), reason_columns);
}

/// The provider's words, from a configuration that may be anybody's.
std::string money_of(const race_row& race, nano_units x) {
  return money_text(x, clean_line(race.currency));
}

std::string model_of(const worker_row& worker) {
  const auto& choice = worker.choice;
  std::string out = clean_line(choice.model.empty() ? choice.provider : choice.model);
  if (choice.temperature) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", *choice.temperature);
    out += std::string{", temperature "} + text;
  }
  if (choice.seed) {
    out += ", seed " + std::to_string(*choice.seed);
  }
  return out;
}

/// Of a race without an end.
std::string unended(const race_row& race) {
  return race.is_running ? "running" : "not ended: its process was killed or crashed";
}

std::string outcome_line(const race_row& race) {
  const auto id = race.race.text;
  if (!race.winner.empty()) {
    return "Race " + id + ": won by " + race.winner.text + " in round " + std::to_string(race.winner_round) + " (" +
           race.standing + ")";
  }
  if (race.end.empty()) {
    return "Race " + id + ": " + unended(race);
  }
  if (race.end == "weak_oracle") {
    return "Race " + id + ": no proven winner, " + short_line(race.reason);
  }
  const auto note = end_note(race.end, race.reason);
  return "Race " + id + ": no winner, " + end_words(race.end, race.reason) +
         (note.empty() ? "" : " (" + short_line(note) + ")");
}

std::string engine_note(const std::string& engine) {
  if (engine == "triton-interpreter") {
    return "triton-interpreter (Triton's interpreter on the CPU: says nothing about a GPU, nor about speed)";
  }
  return engine == "cpu" ? "cpu (says nothing about a GPU)" : clean_line(engine);
}

std::string ran_on(const race_record& record) {
  std::set<std::string> engines;
  std::set<std::string> levels;
  for (const auto& x : record.evaluations) {
    engines.insert(x.engine);
    levels.insert(x.sandbox_level);
  }
  engines.erase("");
  levels.erase("");
  if (engines.empty()) {
    return "no candidate was run";
  }
  std::string out;
  for (const auto& engine : engines) {
    out += (out.empty() ? "engine " : ", ") + engine_note(engine);
  }
  for (const auto& level : levels) {
    out += ", sandbox " + clean_line(level);
  }
  return out;
}

/// Why a round brought no winner; empty if it did, or is not over.
std::string round_line(const race_record& record, const round_row& round) {
  if (round.has_won) {
    return "won";
  }
  if (round.was_accepted) {
    return "passed, after the race was decided";
  }
  if (!round.why.empty()) {
    return "failed: " + short_line(round.why);
  }
  if (round.extraction == "found") {
    return record.race.ended_us == 0 ? "candidate found" : "stopped before its candidate had a verdict";
  }
  return round.extraction.empty() ? "" : round.extraction + ": " + short_line(round.extraction_note);
}

bool is_wanted(const account_options& options, const worker_id& worker, std::uint32_t round) {
  return (options.only_worker.empty() || options.only_worker == worker) &&
         (options.only_round == 0 || round == 0 || options.only_round == round);
}

/// Of one verdict; empty where nobody judged.
std::string verdict_note(const evaluation_row& x) {
  if (x.judge_version == 0) {
    return {};
  }
  const auto with = [](const char* name, const std::string& list) {
    return list.empty() || list == "[]" || list == "{}" ? std::string{} : std::string{", "} + name + " " + short_line(list);
  };
  char errors[96];
  std::snprintf(errors, sizeof errors, "norm of the error %.1e (torch's own %.1e)", x.norm, x.eager_norm);
  return "judge " + std::to_string(x.judge_version) + ", " + plural(x.trial_count, "question") + ", " + errors + ", kernel " +
         clean_line(x.kernel_evidence) + with("marks", x.marks) + with("tightened", x.tightened) + with("compiled", x.compiled);
}

std::string run_details(const race_record& record, const round_row& round) {
  std::string out;
  for (const auto& call : record.llm_calls) {
    if (call.worker == round.worker && call.round == round.round) {
      out += "        call " + std::to_string(call.attempt) + ": " +
             (call.outcome.empty() ? "no answer" : call.outcome) + ", " + short_time(call.elapsed) + ", " +
             plural(call.usage.input_tokens.value_or(0), "token") + " in, " +
             std::to_string(call.usage.output_tokens.value_or(0)) + " out" +
             (call.cost == 0 ? "" : ", cost " + money_of(record.race, call.cost) + " (" + call.basis + ")") +
             (call.error.empty() ? "" : ", " + short_line(call.error)) + "\n";
    }
  }
  for (const auto& x : record.evaluations) {
    if (x.worker == round.worker && x.round == round.round) {
      out += "        run " + std::to_string(x.attempt) + ": " + x.outcome + ", claim " + x.claim + ", " + x.judgement +
             ": " + short_line(x.reason) + "; " + short_time(x.elapsed) + " (queued " + short_time(x.queued) +
             ", CPU " + short_time(x.cpu_time) + ", peak " +
             std::to_string(x.peak_memory / (std::uint64_t{1024} * 1024)) + " MiB) on " + clean_line(x.slot) + ", " +
             clean_line(x.engine) + ", sandbox " + clean_line(x.sandbox_level) + "\n";
      const auto verdict = verdict_note(x);
      out += verdict.empty() ? "" : "               " + verdict + "\n";
    }
  }
  return out;
}

std::string files_of_round(const race_record& record, const round_row& round) {
  const auto base = record.race.run_dir + "/workers/" + round.worker.text;
  const auto k = std::to_string(round.round);
  return "        prompt    " + base + "/prompts/iteration_" + k + ".txt\n" +           //
         "        reply     " + base + "/responses/iteration_" + k + ".final.json\n" +  //
         (round.digest.empty() ? "" : "        candidate " + base + "/artifacts/iteration_" + k + "/code.py\n") +
         "        runs      " + base + "/runs/iteration_" + k + "/\n";
}

std::string worker_block(const race_record& record, const worker_row& worker, const account_options& options) {
  std::string out = "  " + worker.worker.text + "  " + model_of(worker) + ", variant " +
                    std::to_string(worker.variant + 1) + ": " + (worker.end.empty() ? worker.phase : worker.end) +
                    " after " + plural(worker.round, "round") +
                    (worker.reason.empty() ? "" : " (" + short_line(worker.reason) + ")") + "\n";
  for (const auto& round : record.rounds) {
    if (round.worker != worker.worker || !is_wanted(options, round.worker, round.round)) {
      continue;
    }
    const auto line = round_line(record, round);
    const bool is_same = !round.duplicate_of.empty() && round.duplicate != "unique";
    const auto same = is_same ? " [" + round.duplicate + " of " + round.duplicate_of.text + "]" : "";
    out += line.empty() ? "" : "      round " + std::to_string(round.round) + "  " + line + same + "\n";
    if (options.has_details) {
      out += run_details(record, round);
      out += options.only_round == 0 ? "" : files_of_round(record, round);
    }
  }
  return out;
}

std::string winner_block(const race_record& record) {
  const auto& race = record.race;
  if (race.winner.empty()) {
    return {};
  }
  std::string out =
      "Winner     " + race.winner.text + ", round " + std::to_string(race.winner_round) + ": " + race.standing + "\n";
  for (const auto& x : record.evaluations) {
    if (x.worker == race.winner && x.round == race.winner_round && x.is_accepted) {
      const auto proof = x.judgement == "correct" ? std::string{"the judge found it right"}
                                                 : "its own test passed (exit 0 and " +
                                                       std::string{x.claim == "sentinel" ? "ALL_TESTS_PASSED" : "PASS"} + ")";
      out += "           " + proof + " in " + short_time(x.elapsed) + " on engine " + clean_line(x.engine) + "\n";
      const auto verdict = verdict_note(x);
      out += verdict.empty() ? "" : "           " + verdict + "\n";
      break;
    }
  }
  return race.runners_up == 0 ? out : out + "           " + plural(race.runners_up, "runner-up") + "\n";
}

/// Kept, though nobody can say that it is right.
std::string unproven_block(const race_record& record) {
  std::string out;
  for (const auto& x : record.evaluations) {
    if (record.race.end == "weak_oracle" && x.judgement == "weak_oracle" && out.empty()) {
      out = "Unproven   " + x.worker.text + ", round " + std::to_string(x.round) + ", on engine " + clean_line(x.engine) + ": " +
            record.race.run_dir + "/orchestrator/unproven/code.py\n" +
            "           --allow-weak lets such a candidate win, marked\n";
    }
  }
  return out;
}

std::string times_block(const race_row& race) {
  if (race.end.empty()) {
    return {};
  }
  std::string out = "Times      decided " + short_time(race.decided) +
                    " after the start; then everything of the race " + "was stopped in " + short_time(race.cancelled) +
                    " (cancel_ms) and gone in " + short_time(race.quiet) + " (quiet_ms); whole race " +
                    short_time(race.elapsed) + "\n";
  for (const auto& node : race.unconfirmed_nodes) {
    out += "           not confirmed by " + clean_line(node) + ": something may still run there\n";
  }
  return out;
}

std::string timing_block(const timing_row& timing) {
  std::string out;
  for (const auto& line : timing_lines(timing)) {
    out += (out.empty() ? "Timing     " : "           ") + line + "\n";
  }
  return out;
}

/// Sums by usage and by upper bound apart: the first are facts.
std::string spent_block(const race_row& race) {
  std::string out = "Spent      " + plural(race.llm_calls, "call") + ", " + std::to_string(race.input_tokens) +
                    " tokens in, " + std::to_string(race.output_tokens) + " out; " + plural(race.evaluations, "run") +
                    " of candidates\n";
  if (race.cost != 0 || race.budget.money != 0) {
    out += "           money " + money_of(race, race.cost) +
           (race.budget.money == 0 ? "" : " of " + money_of(race, race.budget.money)) + ": " +
           money_of(race, race.cost - race.reserved_cost) + " by reported usage, " + money_of(race, race.reserved_cost) +
           " as the upper bound of calls without it\n";
  }
  if (race.budget.tokens != 0) {
    out += "           at most " + std::to_string(race.budget.tokens) + " tokens were allowed\n";
  }
  if (race.in_flight != 0) {
    out += "           " + money_of(race, race.in_flight) + " more is reserved by calls in flight\n";
  }
  if (race.resumes != 0) {
    out += "           resumed " + plural(race.resumes, "time") + "\n";
  }
  if (race.lost_in_flight != 0) {
    out += "           " + plural(race.lost_in_flight, "call") + " lost in flight with a process that died\n";
  }
  return out;
}

std::string date_of(std::int64_t us) {
  const auto seconds = static_cast<std::time_t>(us / 1'000'000);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace

std::string account_text(const race_record& record, const account_options& options) {
  const auto& race = record.race;
  std::string out = outcome_line(race) + "\n\n";
  out += "Problem    " + clean_line(race.problem) + " (" + clean_line(race.problem_path) + ")\n";
  out += "Rules      stage " + race.stage + ", " + plural(race.workers, "worker") + ", at most " +
         plural(race.rounds, "round") + " each, accept " + race.accept + "\n";
  out += "Ran on     " + ran_on(record) + "\n";
  out += "Who raced\n";
  for (const auto& worker : record.workers) {
    if (is_wanted(options, worker.worker, 0)) {
      out += worker_block(record, worker, options);
    }
  }
  out += winner_block(record) + unproven_block(record);
  out += times_block(race);
  out += timing_block(record.timing);
  out += spent_block(race);
  out += "Files      " + race.run_dir + "\n";
  out += race.artifact_path.empty() ? "" : "           " + race.artifact_path + "\n";
  return out;
}

namespace {

/// Of one race in a list.
std::string spent_words(const race_row& race) {
  const auto tokens = race.input_tokens + race.output_tokens;
  std::string out = tokens == 0 ? "" : ", " + std::to_string(tokens) + " tokens";
  out += race.cost == 0 ? "" : ", cost " + money_of(race, race.cost);
  out += race.resumes == 0 ? "" : ", resumed " + plural(race.resumes, "time");
  return out + (race.lost_in_flight == 0 ? "" : ", " + std::to_string(race.lost_in_flight) + " lost in flight");
}

}  // namespace

std::string list_text(const std::vector<race_row>& races) {
  std::string out;
  for (const auto& race : races) {
    const auto end = race.end.empty() ? std::string{race.is_running ? "running" : "killed or crashed"}
                                      : end_words(race.end, race.reason);
    out += race.race.text + "  " + date_of(race.started_us) + "  " + fit_to(end, 20) + " " +
           fit_to(clean_line(race.problem), 24) + " " + fit_to(race.stage, 8) + " " + plural(race.workers, "worker");
    if (!race.winner.empty()) {
      out += ", " + race.winner.text + " in round " + std::to_string(race.winner_round) + " (" + race.standing + ")";
    }
    out += spent_words(race) + "\n";
  }
  return out;
}

}  // namespace regatta::cli
