// SPDX-License-Identifier: Apache-2.0
// A race while it runs: workers, calls, records. What a later start must know is in race_resume.cpp, how it stops in
// race_stop.cpp.
#include "coordinator/race_rules.hpp"

#include "actors/race_fold.hpp"
#include "messages/digest.hpp"
#include "messages/limits.hpp"

#include <algorithm>

namespace regatta {

race_rules::race_rules(race_rules_config config)
    : config_{std::move(config)}, live_nodes_{config_.nodes}, willing_nodes_{config_.nodes} {
  for (const auto& spec : config_.spec.workers) {
    racer who;
    who.spec = spec;
    racers_.emplace(spec.worker, std::move(who));
  }
  living_ = racers_.size();
}

void race_rules::emit(fact body) {
  event out;
  out.seq = ++seq_;
  out.at_us = config_.wall_clock_us();
  out.race = config_.spec.race;
  out.body = std::move(body);
  effects_.emplace_back(std::move(out));
}

race_rules::racer* race_rules::find(const worker_id& worker) {
  const auto it = racers_.find(worker);
  return it == racers_.end() ? nullptr : &it->second;
}

void race_rules::begin(time_point now) {
  started_at_ = now;
  if (config_.standing) {
    take_up(*config_.standing, now);
    // Whole candidates and their outputs; nobody reads them again.
    config_.standing.reset();
    return;
  }
  emit(race_started{config_.spec, config_.version});
  start_workers(now);
}

void race_rules::start_workers(time_point now) {
  // In the order of the list, which is the order in which users numbered them.
  for (const auto& spec : config_.spec.workers) {
    auto& who = racers_.at(spec.worker);
    if (is_running() && !who.end) {
      start_worker(who, now);
    }
  }
}

std::optional<node_id> race_rules::next_node() {
  if (willing_nodes_.empty()) {
    return std::nullopt;
  }
  return willing_nodes_[next_node_++ % willing_nodes_.size()];
}

void race_rules::start_worker(racer& who, time_point now) {
  const auto node = next_node();
  ++who.start;
  who.is_restarting = false;
  who.is_announced = false;
  who.is_alive = true;
  if (!node) {
    on_racer_ended(who, worker_end::crashed, "no node is left", now);
    return;
  }
  who.node = *node;
  const auto& spec = config_.spec;
  effects_.emplace_back(node_order{
      *node, spawn_worker{spec.race, who.spec, who.start, who.progress, spec.stage, spec.problem, spec.rounds,
                          spec.accept, spec.on_duplicate, spec.device, spec.limits, spec.keep, spec.judging}});
}

void race_rules::announce(racer& who) {
  if (!std::exchange(who.is_announced, true)) {
    emit(worker_started{who.spec.worker, who.node, who.start, who.progress.round, who.spec.variant, who.spec.choice});
  }
}

void race_rules::on_spawned(const spawn_worker& msg, const caf::error& failure, time_point now) {
  auto* who = find(msg.spec.worker);
  if (who == nullptr || !who->is_alive || who->start != msg.start || is_over()) {
    return;
  }
  if (failure) {
    // It is leaving, or does not answer: another start there would be one wasted.
    std::erase(willing_nodes_, who->node);
    on_racer_ended(*who, is_running() ? worker_end::crashed : worker_end::cancelled,
                   "node " + to_string(who->node) + " did not take it: " + describe(failure), now);
  } else {
    announce(*who);
  }
}

caf::error race_rules::admit(const racer* who, const worker_id& worker) const {
  if (!is_running()) {
    return fail(ec::refused, to_string(config_.spec.race) + " is decided");
  }
  if (who == nullptr || !who->is_alive) {
    return fail(ec::unknown_worker, to_string(worker));
  }
  return caf::none;
}

caf::error race_rules::on_prompt(const prompt& msg) {
  auto* who = find(msg.worker);
  if (auto refused = admit(who, msg.worker)) {
    return refused;
  }
  const work_key key{msg.race, msg.worker, msg.round, msg.attempt};
  if (has_open(*who, key)) {
    return caf::none;
  }
  announce(*who);
  who->open_prompt = key;
  who->progress.fallback = fallback_index(who->spec, msg.choice);
  ++ended_.llm_calls;
  emit(prompt_sent{msg.worker, msg.round, msg.attempt, msg.choice, msg.user, sha256_hex(msg.system + '\0' + msg.user)});
  return caf::none;
}

caf::error race_rules::on_reserve(const reserve& msg) {
  return admit(find(msg.worker), msg.worker);
}

namespace {

/// The kinds that a worker may report about itself; empty for all others.
const worker_id* reporter_of(const fact& body) {
  return std::visit(
      []<class T>(const T& x) -> const worker_id* {
        if constexpr (std::is_same_v<T, worker_moved> || std::is_same_v<T, code_extracted> ||
                      std::is_same_v<T, candidate_reserved> || std::is_same_v<T, candidate_evaluated> ||
                      std::is_same_v<T, round_failed>) {
          return &x.worker;
        } else {
          return nullptr;
        }
      },
      body);
}

}  // namespace

void race_rules::on_report(const report& msg) {
  auto* who = find(msg.worker);
  const auto* reporter = reporter_of(msg.body);
  if (is_over() || who == nullptr || !who->is_alive || who->start != msg.start || reporter == nullptr ||
      *reporter != msg.worker) {
    return;
  }
  announce(*who);
  track(*who, msg.body);
  emit(msg.body);
}

void race_rules::on_worker_ended(const worker_ended& msg, time_point now) {
  auto* who = find(msg.worker);
  if (is_over() || who == nullptr || !who->is_alive || who->start != msg.start) {
    return;
  }
  announce(*who);
  if (msg.end == worker_end::won && ended_.winner != msg.worker) {
    on_racer_ended(*who, worker_end::cancelled, msg.reason + ", after the race was decided", now);
  } else {
    on_racer_ended(*who, msg.end, msg.reason, now);
  }
}

void race_rules::on_racer_ended(racer& who, worker_end end, const std::string& reason, time_point now) {
  who.is_alive = false;
  emit(worker_finished{who.spec.worker, who.start, end, reason});
  const bool starts_again = is_running() && end == worker_end::crashed &&
                            who.start - who.former_starts < worker_starts && !willing_nodes_.empty();
  if (is_running()) {
    effects_.emplace_back(release{config_.spec.race, who.spec.worker, {}});
    effects_.emplace_back(withdraw_prompts{config_.spec.race, who.spec.worker});
  }
  if (starts_again) {
    who.is_restarting = true;
    return;
  }
  who.end = end;
  who.reason = reason;
  --living_;
  // No other worker can fare better with such a problem: its replies would be paid for nothing.
  if ((living_ == 0 || end == worker_end::problem_failed) && is_running()) {
    decide_without_winner(now);
  }
}

void race_rules::on_prompt_progress(const prompt_progress& msg) {
  const auto* who = find(msg.worker);
  if (is_running() && who != nullptr && has_open(*who, {msg.race, msg.worker, msg.round, msg.attempt})) {
    effects_.emplace_back(node_note{who->node, msg});
  }
}

void race_rules::on_prompt_delta(const prompt_delta& msg) {
  const auto* who = find(msg.worker);
  if (!is_over() && who != nullptr && has_open(*who, {msg.race, msg.worker, msg.round, msg.attempt})) {
    emit(reply_delta{msg.worker, msg.round, msg.attempt, msg.text});
  }
}

void race_rules::on_prompt_ended(const prompt_ended& msg, time_point now) {
  auto* who = find(msg.worker);
  const work_key key{msg.race, msg.worker, msg.round, msg.attempt};
  if (phase_ == phase::stopping && msg.outcome == llm_outcome::cancelled) {
    ++cancelled_prompts_;
  }
  if (is_over() || who == nullptr || !has_open(*who, key)) {
    finish_if_quiet(now);
    return;
  }
  const bool is_known = msg.is_known || who->told_prompt == key;
  who->open_prompt.reset();
  who->told_prompt = key;
  who->reply = msg.text;
  who->is_cut = msg.outcome == llm_outcome::truncated;
  count(msg, is_known);
  emit(reply_ended{msg.worker, msg.round, msg.attempt, msg.outcome, msg.text, msg.finish_reason, msg.response_id,
                   msg.usage, msg.error, msg.http_status, msg.tries, msg.first_text, msg.elapsed, msg.cost, msg.basis,
                   msg.charged_tokens, msg.lost_in_flight, is_known, msg.warning});
  if (is_running() && who->is_alive && !std::exchange(who->is_withdrawn, false)) {
    effects_.emplace_back(node_note{who->node, msg});
  }
  finish_if_quiet(now);
}

void race_rules::count(const prompt_ended& msg, bool is_known) {
  if (is_known) {
    // Nobody was asked, and what it cost is counted already, maybe by a former process.
    --ended_.llm_calls;
    return;
  }
  ended_.input_tokens += msg.usage.input_tokens.value_or(0);
  ended_.output_tokens += msg.usage.output_tokens.value_or(0);
  ended_.cost += msg.cost;
  ended_.reserved_cost += msg.basis == charge_basis::reserved ? msg.cost : 0;
  ended_.lost_in_flight += msg.lost_in_flight;
}

void race_rules::on_reservation_resolved(const reservation_resolved& msg) {
  const auto* who = find(msg.worker);
  if (is_running() && who != nullptr && who->is_alive) {
    effects_.emplace_back(node_note{who->node, msg});
  }
}

void race_rules::on_node_lost(const node_id& node, const std::string& reason, time_point now) {
  if (std::erase(live_nodes_, node) == 0 || is_over()) {
    return;
  }
  std::erase(willing_nodes_, node);
  const bool was_running = is_running();
  for (auto& [id, who] : racers_) {
    if (who.is_alive && who.node == node) {
      on_racer_ended(who, worker_end::crashed, "node " + to_string(node) + " is lost: " + reason, now);
    }
  }
  if (phase_ == phase::timing && timing_order_->node == node) {
    unconfirmed_.insert(node);
    end_timing({}, "node " + to_string(node) + " is lost: " + reason, now);
    return;
  }
  if (!was_running) {
    unconfirmed_.insert(node);
    unsignalled_.erase(node);
    unquiet_.erase(node);
    finish_if_quiet(now);
  }
}

}  // namespace regatta
