// SPDX-License-Identifier: Apache-2.0
// How a race is decided and stops, and what its last event says.
#include "coordinator/race_rules.hpp"
#include "messages/limits.hpp"

#include <algorithm>

namespace regatta {

namespace {

std::chrono::microseconds to_us(std::chrono::steady_clock::duration x) {
  return std::chrono::duration_cast<std::chrono::microseconds>(x);
}

}  // namespace

void race_rules::on_winner(const winner& msg, time_point now) {
  const auto* who = find(msg.worker);
  // A node may be of another build, or hostile: the rule is applied where the race is decided.
  const bool has_won = is_accepted(verdict_of(msg.result), config_.spec.accept);
  const bool is_weak = !has_won && config_.spec.judging.is_weak && is_unproven(verdict_of(msg.result), config_.spec.accept);
  if (is_over() || who == nullptr || !(has_won || (is_weak && is_running())) || !passed_.insert(msg.worker).second) {
    return;
  }
  if (is_weak) {
    ended_.unproven = msg.worker;
    ended_.unproven_round = msg.round;
    decide(race_end::weak_oracle, "unproven: " + to_string(msg.worker) + " is right at iter " + std::to_string(msg.round) +
                                      ", but doing nothing would pass, too", "weak_oracle", now);
    return;
  }
  if (!is_running()) {
    ++ended_.runners_up;
    emit(runner_up{msg.worker, msg.round, msg.digest});
    return;
  }
  ended_.winner = msg.worker;
  ended_.winner_round = msg.round;
  emit(winner_decided{msg.worker, msg.round, msg.digest, msg.code, msg.result,
                      std::string{standing_of(config_.spec.accept, config_.spec.judging.is_weak)}});
  keep_for_timing(msg, who->node);
  // KernelAgent's words: its users' scripts read them.
  const auto validator = needs_judge(config_.spec.accept) ? std::string{"judge"} : to_string(msg.result.claim);
  decide(race_end::won, "pass via " + validator + " at iter " + std::to_string(msg.round), "won", now);
}

void race_rules::on_stop(const stop_race& msg, time_point now) {
  if (is_running()) {
    decide(race_end::cancelled, "canceled", msg.why, now);
  } else if (phase_ == phase::timing) {
    stop_timing("stopped: " + msg.why, now);
  } else if (phase_ == phase::stopping && timing_order_) {
    timing_order_.reset();
    ended_.not_timed = "stopped: " + msg.why;
  }
}

void race_rules::decide_without_winner(time_point now) {
  const auto first_of = [&](worker_end end) -> const racer* {
    const auto it = std::ranges::find_if(racers_, [&](const auto& x) { return x.second.end == end; });
    return it == racers_.end() ? nullptr : &it->second;
  };
  if (const auto* problem = first_of(worker_end::problem_failed)) {
    decide(race_end::problem_failed, problem->reason, "problem_failed", now);
  } else if (first_of(worker_end::rounds_spent) != nullptr || first_of(worker_end::retired) != nullptr) {
    decide(race_end::no_passing_solution, "no_passing_solution", "no_passing_solution", now);
  } else if (const auto* llm = first_of(worker_end::llm_failed)) {
    decide(race_end::llm_failed, "llm_failure: " + llm->reason, "llm_failure", now);
  } else if (const auto* sandbox = first_of(worker_end::sandbox_failed)) {
    decide(race_end::sandbox_failed, "sandbox_failure: " + sandbox->reason, "sandbox_failure", now);
  } else if (const auto* crashed = first_of(worker_end::crashed)) {
    decide(race_end::internal, to_string(crashed->spec.worker) + ": " + crashed->reason, "internal", now);
  } else {
    decide(race_end::cancelled, "canceled", "every worker was cancelled", now);
  }
}

void race_rules::on_essential_lost(const std::string& what, const std::string& reason, time_point now) {
  const bool was_gateway = what == "llm_gateway";
  if (is_running()) {
    decide(race_end::internal, what + " ended: " + reason, what + " ended", now);
  }
  if (was_gateway && phase_ == phase::stopping) {
    on_withdrawn({}, 0, now);
  }
}

void race_rules::decide(race_end end, std::string reason, std::string why, time_point now) {
  phase_ = phase::stopping;
  decided_at_ = now;
  ended_.end = end;
  ended_.reason = std::move(reason);
  ended_.decided = to_us(now - started_at_);
  why_ = std::move(why);
  for (const auto& node : live_nodes_) {
    unsignalled_.insert(node);
    unquiet_.insert(node);
    effects_.emplace_back(node_order{node, cancel{config_.spec.race}});
  }
  effects_.emplace_back(withdraw_prompts{config_.spec.race, {}});
  if (live_nodes_.empty()) {
    signalled_at_ = now;
  }
  std::erase_if(config_.nodes, [&](const node_id& x) { return unquiet_.contains(x); });
  unconfirmed_.insert(config_.nodes.begin(), config_.nodes.end());
  for (auto& [id, who] : racers_) {
    if (std::exchange(who.is_restarting, false)) {
      who.end = worker_end::crashed;
      --living_;
    }
  }
}

void race_rules::on_cancelled(const node_id& node, const cancelled& answer, time_point now) {
  if (unsignalled_.erase(node) == 0) {
    return;
  }
  stopped_.runs += answer.runs;
  stopped_.workers += answer.workers;
  on_all_signalled(now);
}

void race_rules::on_cancel_failed(const node_id& node, time_point now) {
  // Its `node_quiet` may still come; if not, `quiet_timeout` names it.
  unsignalled_.erase(node);
  on_all_signalled(now);
}

void race_rules::on_node_quiet(const node_quiet& msg, time_point now) {
  unquiet_.erase(msg.node);
  if (phase_ == phase::timing && !ended_.not_timed.empty() && msg.node == timing_order_->node) {
    finish(now);
  }
  finish_if_quiet(now);
}

void race_rules::on_withdrawn(const worker_id& worker, std::uint32_t calls, time_point now) {
  if (worker.empty()) {
    stopped_.prompts += calls;
    withdrawn_ = calls;
    on_all_signalled(now);
    return;
  }
  auto* who = find(worker);
  if (who != nullptr && who->is_restarting && is_running()) {
    // A call that was closed still says what it cost; where none was, nothing will come.
    who->is_withdrawn = calls > 0 && who->open_prompt;
    if (!who->is_withdrawn) {
      who->open_prompt.reset();
    }
    start_worker(*who, now);
  }
}

void race_rules::on_all_signalled(time_point now) {
  if (phase_ != phase::stopping) {
    return;
  }
  if (unsignalled_.empty() && !signalled_at_) {
    signalled_at_ = now;
  }
  finish_if_quiet(now);
}

bool race_rules::has_open_prompts() const {
  const bool are_all_told = withdrawn_ && cancelled_prompts_ >= *withdrawn_;
  const auto is_open = [](const auto& x) { return x.second.open_prompt.has_value(); };
  return !withdrawn_ || (!are_all_told && std::ranges::any_of(racers_, is_open));
}

void race_rules::finish_if_quiet(time_point now) {
  if (phase_ != phase::stopping || !unsignalled_.empty() || has_open_prompts()) {
    return;
  }
  if (!std::exchange(is_cancel_told_, true)) {
    signalled_at_ = signalled_at_.value_or(now);
    stopped_.why = why_;
    emit(stopped_);
  }
  if (unquiet_.empty() && !begin_timing(now)) {
    finish(now);
  }
}

void race_rules::finish(time_point now) {
  if (phase_ == phase::stopping && timing_order_ && ended_.not_timed.empty()) {
    ended_.not_timed = "not everything of the race was quiet in time";
  }
  unconfirmed_.insert(unsignalled_.begin(), unsignalled_.end());
  unconfirmed_.insert(unquiet_.begin(), unquiet_.end());
  if (!std::exchange(is_cancel_told_, true)) {
    stopped_.why = why_ + (has_open_prompts() ? "; the LLM gateway did not confirm that its streams are closed" : "");
    emit(stopped_);
  }
  for (auto& [id, who] : racers_) {
    if (std::exchange(who.is_alive, false)) {
      emit(worker_finished{id, who.start, worker_end::crashed,
                           "node " + to_string(who.node) + " did not say how it ended"});
    }
  }
  ended_ = summary(now);
  phase_ = phase::over;
  emit(ended_);
  effects_.emplace_back(forget_race{config_.spec.race});
  effects_.emplace_back(race_over{ended_, seq_});
}

race_ended race_rules::summary(time_point now) const {
  auto out = ended_;
  out.cancelled = to_us(signalled_at_.value_or(now) - decided_at_);
  out.quiet = to_us(quiet_at_.value_or(now) - decided_at_);
  out.elapsed = to_us(now - started_at_);
  out.unconfirmed_nodes.assign(unconfirmed_.begin(), unconfirmed_.end());
  return out;
}

void race_rules::abandon(const std::string& reason, time_point now) {
  if (is_over()) {
    return;
  }
  if (is_running()) {
    decide(race_end::internal, "race ended: " + reason, "race ended", now);
  }
  if (timing_order_ && ended_.not_timed.empty()) {
    ended_.not_timed = "race ended: " + reason;
  }
  finish(now);
}

void race_rules::on_wake(time_point now) {
  const auto due = deadline();
  if (!due || now < *due) {
    return;
  }
  if (is_running()) {
    decide(race_end::deadline, "deadline", "deadline", now);
  } else if (phase_ == phase::timing && ended_.not_timed.empty()) {
    stop_timing("not done within " + std::to_string(timing_timeout.count()) + " s", now);
  } else {
    finish(now);
  }
}

std::optional<race_rules::time_point> race_rules::deadline() const {
  if (phase_ == phase::stopping) {
    return decided_at_ + quiet_timeout;
  }
  if (phase_ == phase::timing) {
    return timing_until_;
  }
  const bool has_deadline = is_running() && config_.spec.deadline.count() > 0;
  return has_deadline ? std::optional{started_at_ + config_.spec.deadline} : std::nullopt;
}

caf::error validate(const race_spec& spec) {
  const auto refuse = [](std::string text) { return fail(ec::invalid_config, std::move(text)); };
  const auto range = [](std::size_t got, std::size_t most) {
    return ": got " + std::to_string(got) + ", allowed 1 to " + std::to_string(most);
  };
  if (spec.race.empty()) {
    return refuse("race: got an empty id");
  }
  if (spec.workers.empty() || spec.workers.size() > max_workers) {
    return refuse("workers" + range(spec.workers.size(), max_workers));
  }
  if (spec.rounds == 0 || spec.rounds > max_rounds) {
    return refuse("rounds" + range(spec.rounds, max_rounds));
  }
  if (spec.problem.text.size() > problem_bytes) {
    return refuse("problem" + range(spec.problem.text.size(), problem_bytes));
  }
  std::set<worker_id> seen;
  for (const auto& worker : spec.workers) {
    if (worker.worker.empty() || !seen.insert(worker.worker).second) {
      return refuse("workers: id \"" + worker.worker.text + "\" is empty or given twice");
    }
  }
  return caf::none;
}

}  // namespace regatta
