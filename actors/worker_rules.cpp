// SPDX-License-Identifier: Apache-2.0
#include "actors/worker_rules.hpp"

#include "actors/prompts.hpp"
#include "actors/worker_feedback.hpp"
#include "messages/digest.hpp"
#include "messages/limits.hpp"

#include <algorithm>

namespace regatta {

namespace {

/// The race is over or gone; nothing that this worker does counts any more.
bool is_race_over(const caf::error& why) {
  return code_of(why) == ec::refused || code_of(why) == ec::unknown_race;
}

std::string seconds_text(std::chrono::seconds x) {
  return std::to_string(x.count()) + " s";
}

/// " until 10:41:07 UTC"; whole seconds, so that the same wait is said once, and none that is over before the wait is.
std::string until_text(std::int64_t utc_us) {
  if (utc_us <= 0) {
    return "";
  }
  const auto of_day = ((utc_us + 999'999) / 1'000'000) % 86'400;
  const auto two = [](std::int64_t x) { return (x < 10 ? "0" : "") + std::to_string(x); };
  return " until " + two(of_day / 3'600) + ":" + two(of_day / 60 % 60) + ":" + two(of_day % 60) + " UTC";
}

std::string note_of(const prompt_progress& x) {
  switch (x.phase) {
    case prompt_phase::queued:
      return "queued at the provider";
    case prompt_phase::throttled:
      return "throttled" + until_text(x.until_us) + (x.note.empty() ? "" : ": " + x.note);
    case prompt_phase::sent:
    case prompt_phase::streaming:
      break;
  }
  return "";
}

}  // namespace

worker_rules::worker_rules(worker_order order)
    : brief_{std::move(order.brief)},
      spec_{std::move(order.spec)},
      start_{order.start},
      rounds_{order.rounds},
      progress_{std::move(order.progress)} {}

void worker_rules::enter(phase next, std::optional<time_point> deadline) {
  phase_ = next;
  ++step_;
  deadline_ = deadline;
  has_asked_again_ = false;
}

void worker_rules::send(std::variant<prompt, check_source, reserve, run> body) {
  effects_.emplace_back(worker_request{step_, std::move(body)});
}

void worker_rules::report_fact(fact body) {
  effects_.emplace_back(report{brief_->race, spec_.worker, start_, std::move(body)});
}

void worker_rules::show(worker_phase where, std::string note) {
  if (where == shown_ && note == shown_note_) {
    return;
  }
  shown_ = where;
  shown_note_ = note;
  report_fact(worker_moved{spec_.worker, progress_.round, where, std::move(note)});
}

void worker_rules::begin(time_point now) {
  ask_model("", now);
}

const model_choice& worker_rules::choice() const {
  const auto& others = spec_.fallbacks;
  const bool is_own = progress_.fallback == 0 || progress_.fallback > others.size();
  return is_own ? spec_.choice : others[progress_.fallback - 1];
}

void worker_rules::ask_model(std::string note, time_point now) {
  enter(phase::prompting, now + silence_limit);
  show(worker_phase::prompting, std::move(note));
  send_prompt();
}

bool worker_rules::fall_back(const std::string& why, time_point now) {
  if (progress_.fallback >= spec_.fallbacks.size()) {
    return false;
  }
  ++progress_.fallback;
  first_attempt_ = ++attempt_;
  ask_model("goes on with " + choice().model + " (" + choice().provider + ") after " + why, now);
  return true;
}

void worker_rules::send_prompt() {
  send(prompt{brief_->race,
              spec_.worker,
              progress_.round,
              attempt_,
              choice(),
              brief_->stage.system,
              render_prompt(brief_->stage, spec_.variant, progress_, brief_->problem),
              0,
              {}});
}

void worker_rules::on_accepted(std::uint64_t step, time_point now) {
  if (step == step_ && deadline_) {
    deadline_ = now + silence_limit;
  }
}

void worker_rules::on_refused(std::uint64_t step, const caf::error& why, time_point now) {
  if (step != step_ || is_ended()) {
    return;
  }
  if (is_race_over(why)) {
    end(worker_end::cancelled, describe(why));
    return;
  }
  // The same key again is the same question, so asking twice is safe where the first answer may have been lost.
  const bool may_ask_again = !std::exchange(has_asked_again_, true);
  switch (phase_) {
    case phase::prompting:
      if (code_of(why) == ec::unknown_provider || code_of(why) == ec::invalid_config) {
        if (!fall_back(describe(why), now)) {
          end(worker_end::llm_failed, describe(why));
        }
      } else {
        may_ask_again ? send_prompt() : on_llm_failure(llm_outcome::transport_failed, describe(why), now);
      }
      break;
    case phase::checking:
      check_again_or_end(describe(why), now);
      break;
    case phase::reserving:
    case phase::waiting:
      may_ask_again ? send_reserve() : end(worker_end::crashed, "no answer to reserve: " + describe(why));
      break;
    case phase::running:
      may_ask_again ? send_run() : on_run_lost(describe(why), now);
      break;
    case phase::starting:
    case phase::ended:
      break;
  }
}

void worker_rules::on_prompt_progress(const prompt_progress& msg, time_point now) {
  if (is_current_prompt(msg)) {
    deadline_ = now + silence_limit;
    has_asked_again_ = false;
    show(worker_phase::prompting, note_of(msg));
  }
}

void worker_rules::on_prompt_ended(const prompt_ended& msg, time_point now) {
  if (!is_current_prompt(msg)) {
    return;
  }
  if (msg.outcome == llm_outcome::cancelled) {
    end(worker_end::cancelled, "the call was withdrawn");
  } else if (has_text(msg.outcome) && !msg.text.empty()) {
    extract(msg, now);
  } else {
    on_llm_failure(has_text(msg.outcome) ? llm_outcome::empty : msg.outcome, msg.error, now);
  }
}

void worker_rules::on_llm_failure(llm_outcome how, const std::string& error, time_point now) {
  const auto why = error.empty() ? to_string(how) : to_string(how) + ": " + error;
  const bool is_worn_out = attempt_ - first_attempt_ + 1 >= attempts_per_round;
  const bool is_gone = is_final(how) ? may_fall_back(how) : is_worn_out;
  if (is_gone && fall_back(why, now)) {
    return;
  }
  if (is_final(how) || is_worn_out) {
    end(worker_end::llm_failed, why);
    return;
  }
  ++attempt_;
  ask_model("attempt " + std::to_string(attempt_), now);
}

void worker_rules::extract(const prompt_ended& reply, time_point now) {
  candidate_ = std::make_unique<candidate>();
  candidate_->is_cut = reply.outcome == llm_outcome::truncated;
  candidate_->found = find_code(reply.text, candidate_->is_cut);
  const auto& found = candidate_->found;
  enter(phase::checking, std::nullopt);
  show(worker_phase::extracting, "");
  if (found.problem == extraction::found && !found.options.empty()) {
    send_check();
    return;
  }
  const auto result = found.problem == extraction::found ? extraction::no_code : found.problem;
  report_fact(code_extracted{spec_.worker, progress_.round, attempt_, result, found.note, "", {}});
  progress_.last_code.clear();
  next_round(to_string(result), extraction_feedback(result, found.note), now);
}

void worker_rules::send_check() {
  check_source question{brief_->race, {}};
  for (const auto& option : candidate_->found.options) {
    question.texts.push_back(option.text);
  }
  send(std::move(question));
}

void worker_rules::check_again_or_end(const std::string& why, time_point) {
  if (candidate_->check_attempt >= sandbox_attempts) {
    end(worker_end::sandbox_failed, "source checker: " + why);
    return;
  }
  ++candidate_->check_attempt;
  send_check();
}

void worker_rules::on_source_report(std::uint64_t step, const source_report& msg, time_point now) {
  if (step != step_ || phase_ != phase::checking) {
    return;
  }
  const auto& found = candidate_->found;
  if (msg.facts.size() != found.options.size()) {
    check_again_or_end(
        "answered " + std::to_string(msg.facts.size()) + " texts of " + std::to_string(found.options.size()), now);
    return;
  }
  const auto chosen = choose_code(found, msg.facts, brief_->stage.must_define, candidate_->is_cut);
  if (chosen.result != extraction::found) {
    report_fact(code_extracted{spec_.worker, progress_.round, attempt_, chosen.result, chosen.note, "", {}});
    // The model mends what it sees; which of several blocks it meant is its own business.
    progress_.last_code = found.options.front().text;
    next_round(to_string(chosen.result) + ": " + chosen.note, extraction_feedback(chosen.result, chosen.note), now);
    return;
  }
  const auto digest = digest_of_source(chosen.code);
  candidate_->code = chosen.code;
  candidate_->digest = digest;
  candidate_->is_repeat = std::ranges::find(progress_.own_digests, digest) != progress_.own_digests.end();
  if (!candidate_->is_repeat) {
    progress_.own_digests.push_back(digest);
  }
  report_fact(
      code_extracted{spec_.worker, progress_.round, attempt_, chosen.result, chosen.note, chosen.code, digest});
  run_attempt_ = 1;
  if (const auto known = std::ranges::find(progress_.evaluated, digest, &known_evaluation::digest);
      known != progress_.evaluated.end()) {
    // On record already: neither run nor told again.
    conclude(evaluation{known->result}, now);
    return;
  }
  ask_registry();
}

void worker_rules::next_round(const std::string& why, std::string error_context, time_point now) {
  report_fact(round_failed{spec_.worker, progress_.round, why, error_context});
  if (progress_.round >= rounds_) {
    end(worker_end::rounds_spent, why);
    return;
  }
  ++progress_.round;
  progress_.error_context = std::move(error_context);
  progress_.evaluated.clear();
  candidate_.reset();
  attempt_ = 1;
  first_attempt_ = 1;
  run_attempt_ = 1;
  ask_model("", now);
}

void worker_rules::on_wake(time_point now) {
  if (!deadline_ || now < *deadline_) {
    return;
  }
  const bool may_ask_again = !std::exchange(has_asked_again_, true);
  deadline_ = now + silence_limit;
  const auto silence = "silent for " + seconds_text(2 * silence_limit);
  switch (phase_) {
    case phase::prompting:
      may_ask_again ? send_prompt() : on_llm_failure(llm_outcome::transport_failed, "LLM gateway " + silence, now);
      break;
    case phase::waiting:
      // Nobody beats while a rival evaluates; the question again mends a lost `reservation_resolved`.
      has_asked_again_ = false;
      send_reserve();
      break;
    case phase::running:
      may_ask_again ? send_run() : on_run_lost("evaluator " + silence, now);
      break;
    default:
      deadline_.reset();
  }
}

void worker_rules::end(worker_end how, std::string reason) {
  enter(phase::ended, std::nullopt);
  effects_.emplace_back(worker_ended{brief_->race, spec_.worker, start_, how, std::move(reason)});
}

}  // namespace regatta
