// SPDX-License-Identifier: Apache-2.0
// The second half of a worker's round: from a candidate's text to its verdict.
#include "actors/worker_feedback.hpp"
#include "actors/worker_rules.hpp"
#include "messages/limits.hpp"

namespace regatta {

namespace {

std::string note_of(const run_progress& x) {
  return x.has_started ? x.slot : std::to_string(x.ahead) + " ahead";
}

}  // namespace

void worker_rules::ask_registry() {
  enter(phase::reserving, std::nullopt);
  send_reserve();
}

void worker_rules::send_reserve() {
  send(reserve{brief_->race, spec_.worker, progress_.round, run_attempt_, candidate_->digest});
}

void worker_rules::on_reservation(std::uint64_t step, const reservation& msg, time_point now) {
  if (step != step_ || (phase_ != phase::reserving && phase_ != phase::waiting)) {
    return;
  }
  if (phase_ == phase::reserving && run_attempt_ == 1) {
    report_fact(
        candidate_reserved{spec_.worker, progress_.round, attempt_, candidate_->digest, msg.duplicate, msg.owner});
  }
  // A second try of an own candidate is no duplicate, whoever was granted it in between.
  const bool must_retire = brief_->on_duplicate == duplicate_policy::retire && run_attempt_ == 1 &&
                           msg.duplicate == duplicate::duplicate_cross_worker;
  if (must_retire) {
    effects_.emplace_back(release{brief_->race, spec_.worker, candidate_->digest});
    end(worker_end::retired, "same candidate as " + to_string(msg.owner));
    return;
  }
  switch (msg.state) {
    case reservation_state::granted:
      evaluate(now);
      break;
    case reservation_state::pending:
      enter(phase::waiting, now + silence_limit);
      show(worker_phase::waiting, "same candidate as " + to_string(msg.owner));
      break;
    case reservation_state::settled:
      on_duplicate_settled(msg, now);
      break;
  }
}

void worker_rules::on_reservation_resolved(const reservation_resolved& msg, time_point now) {
  const bool is_current = phase_ == phase::waiting && msg.race == brief_->race && msg.round == progress_.round &&
                          msg.attempt == run_attempt_ && msg.digest == candidate_->digest;
  if (!is_current) {
    return;
  }
  if (msg.result.state == reservation_state::granted) {
    evaluate(now);
  } else if (msg.result.state == reservation_state::settled) {
    on_duplicate_settled(msg.result, now);
  }
}

void worker_rules::on_duplicate_settled(const reservation& msg, time_point now) {
  progress_.last_code = candidate_->code;
  const auto whose = msg.duplicate == duplicate::duplicate_same_worker ? "its own" : to_string(msg.owner) + "'s";
  next_round("same candidate as " + whose + " of round " + std::to_string(msg.owner_round),
             duplicate_feedback(msg, candidate_->is_repeat || msg.duplicate == duplicate::duplicate_same_worker), now);
}

void worker_rules::evaluate(time_point now) {
  enter(phase::running, now + silence_limit);
  show(worker_phase::queued, run_attempt_ == 1 ? "" : "attempt " + std::to_string(run_attempt_));
  send_run();
}

void worker_rules::send_run() {
  const auto& all = *brief_;
  send(run{all.race, spec_.worker, progress_.round, run_attempt_, candidate_->code, candidate_->digest,
           all.problem.text, all.device, all.limits, all.keep, all.accept, all.stage.name,
           all.judging});
}

void worker_rules::on_run_progress(const run_progress& msg, time_point now) {
  if (is_current_run(msg)) {
    deadline_ = now + silence_limit;
    has_asked_again_ = false;
    show(msg.has_started ? worker_phase::evaluating : worker_phase::queued, note_of(msg));
  }
}

void worker_rules::on_run_ended(const run_ended& msg, time_point now) {
  if (!is_current_run(msg)) {
    return;
  }
  const bool wins = is_accepted(verdict_of(msg.result), brief_->accept);
  report_fact(candidate_evaluated{spec_.worker, msg.round, msg.attempt, candidate_->digest, msg.result, wins});
  conclude(msg.result, now);
}

void worker_rules::conclude(const evaluation& result, time_point now) {
  if (is_unproven(verdict_of(result), brief_->accept)) {
    effects_.emplace_back(
        winner{brief_->race, spec_.worker, progress_.round, run_attempt_, candidate_->digest, candidate_->code, result});
    end(worker_end::problem_failed, "weak_oracle: right in round " + std::to_string(progress_.round) + ", but " +
                                        "doing nothing would pass, too");
    return;
  }
  if (!is_accepted(verdict_of(result), brief_->accept)) {
    on_failed_evaluation(result, now);
    return;
  }
  effects_.emplace_back(
      winner{brief_->race, spec_.worker, progress_.round, run_attempt_, candidate_->digest, candidate_->code, result});
  effects_.emplace_back(settle{brief_->race, spec_.worker, candidate_->digest, verdict_of(result), ""});
  end(worker_end::won, "passed in round " + std::to_string(progress_.round));
}

void worker_rules::on_failed_evaluation(const evaluation& result, time_point now) {
  if (result.outcome == outcome::sandbox_failed || result.outcome == outcome::cancelled) {
    retry_evaluation(to_string(result.outcome) + ": " + result.reason);
    return;
  }
  if (is_of_the_problem(result.judgement)) {
    end(worker_end::problem_failed, to_string(result.judgement) + ": " + result.reason);
    return;
  }
  auto feedback = run_feedback(result);
  effects_.emplace_back(settle{brief_->race, spec_.worker, candidate_->digest, verdict_of(result), feedback});
  progress_.last_code = candidate_->code;
  next_round(failure_line(result), std::move(feedback), now);
}

void worker_rules::on_run_lost(const std::string& why, time_point now) {
  evaluation lost;
  lost.outcome = outcome::sandbox_failed;
  lost.reason = why;
  on_run_ended({brief_->race, spec_.worker, progress_.round, run_attempt_, std::move(lost)}, now);
}

void worker_rules::retry_evaluation(const std::string& why) {
  // Whoever waits for this candidate may have a healthier sandbox.
  effects_.emplace_back(release{brief_->race, spec_.worker, candidate_->digest});
  if (run_attempt_ >= sandbox_attempts) {
    end(worker_end::sandbox_failed, why);
    return;
  }
  ++run_attempt_;
  ask_registry();
}

}  // namespace regatta
