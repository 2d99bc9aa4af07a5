// SPDX-License-Identifier: Apache-2.0
#include "actors/race_fold.hpp"

#include "actors/code_extractor.hpp"

#include <algorithm>
#include <variant>

namespace regatta {

namespace {

bool is_same(const model_choice& a, const model_choice& b) {
  return a.fields() == b.fields();
}

}  // namespace

bool counts_for_candidate(const evaluation& x) {
  return x.outcome != outcome::sandbox_failed && x.outcome != outcome::cancelled;
}

std::string first_block(const std::string& reply, bool is_cut) {
  const auto found = find_code(reply, is_cut);
  return found.problem == extraction::found && !found.options.empty() ? found.options.front().text : std::string{};
}

std::uint32_t fallback_index(const worker_spec& spec, const model_choice& choice) {
  if (is_same(spec.choice, choice)) {
    return 0;
  }
  const auto it = std::ranges::find_if(spec.fallbacks, [&](const auto& x) { return is_same(x, choice); });
  return it == spec.fallbacks.end() ? 0 : static_cast<std::uint32_t>(it - spec.fallbacks.begin() + 1);
}

std::uint32_t race_fold::worker_state::reached() const {
  std::uint32_t round = 1;
  for (auto it = rounds.find(round); it != rounds.end() && it->second.has_failed; it = rounds.find(round)) {
    ++round;
  }
  return round;
}

void race_fold::apply(const event& x) {
  last_seq_ = std::max(last_seq_, x.seq);
  std::visit([&](const auto& body) { on(x, body); }, x.body);
}

void race_fold::on(const event&, const race_started& body) {
  has_started_ = true;
  spec_ = body.spec;
  version_ = body.version;
  for (const auto& spec : spec_.workers) {
    workers_[spec.worker].spec = spec;
  }
}

void race_fold::on(const event&, const worker_started& body) {
  auto& it = workers_[body.worker];
  it.starts = std::max(it.starts, body.start);
  it.retired.reset();
}

void race_fold::on(const event&, const worker_moved&) {}

void race_fold::on(const event&, const prompt_sent& body) {
  workers_[body.worker].choice = body.choice;
  ++totals_.llm_calls;
}

void race_fold::on(const event&, const reply_delta&) {}

void race_fold::on(const event&, const reply_ended& body) {
  auto& it = workers_[body.worker];
  it.reply = body.text;
  it.is_cut = body.outcome == llm_outcome::truncated;
  if (is_paid_answer(body.outcome)) {
    paid_.insert({body.worker, {body.round, body.attempt}});
  }
  if (body.is_known) {
    // Nobody was asked: `prompt_sent` has only told the question again.
    --totals_.llm_calls;
    return;
  }
  totals_.input_tokens += body.usage.input_tokens.value_or(0);
  totals_.output_tokens += body.usage.output_tokens.value_or(0);
  totals_.cost += body.cost;
  totals_.reserved_cost += body.basis == charge_basis::reserved ? body.cost : 0;
  totals_.lost_in_flight += body.lost_in_flight;
}

void race_fold::on(const event&, const code_extracted& body) {
  auto& it = workers_[body.worker];
  auto& round = it.rounds[body.round];
  round.code = body.result == extraction::found ? body.code : first_block(it.reply, it.is_cut);
  if (!body.digest.empty() && std::ranges::find(round.digests, body.digest) == round.digests.end()) {
    round.digests.push_back(body.digest);
  }
}

void race_fold::on(const event&, const candidate_reserved&) {}

void race_fold::on(const event& x, const candidate_evaluated& body) {
  auto& all = workers_[body.worker].rounds[body.round].evaluated;
  const auto it = std::ranges::find_if(all, [&](const auto& y) { return y.known.digest == body.digest; });
  // A process that goes on may tell an evaluation again that it has from the record.
  if (it != all.end() && it->known.result.started_us == body.result.started_us &&
      it->known.result.outcome == body.result.outcome) {
    return;
  }
  ++totals_.evaluations;
  if (!counts_for_candidate(body.result)) {
    return;
  }
  if (body.is_accepted && !passed_) {
    passed_ = regatta::winner{x.race,       body.worker, body.round,
                              body.attempt, body.digest, workers_[body.worker].rounds[body.round].code,
                              body.result};
  }
  if (it != all.end()) {
    *it = {{body.digest, body.result}, x.seq};
  } else {
    all.push_back({{body.digest, body.result}, x.seq});
  }
}

void race_fold::on(const event&, const round_failed& body) {
  auto& round = workers_[body.worker].rounds[body.round];
  round.has_failed = true;
  round.why = body.why;
  round.error_context = body.error_context;
  for (const auto& x : round.evaluated) {
    if (settled_.insert(x.known.digest).second) {
      candidates_.push_back({body.worker, body.round, x.known.digest, verdict_of(x.known.result), body.error_context});
    }
  }
  // Their outputs are in the feedback as far as anybody needs them.
  round.evaluated.clear();
}

void race_fold::on(const event&, const worker_finished& body) {
  auto& it = workers_[body.worker];
  it.starts = std::max(it.starts, body.start);
  if (body.end == worker_end::retired) {
    it.retired = body;
  }
}

void race_fold::on(const event& x, const winner_decided& body) {
  winner_ = body;
  passed_ = regatta::winner{x.race, body.worker, body.round, 1, body.digest, body.code, body.result};
}

void race_fold::on(const event&, const runner_up&) {
  ++totals_.runners_up;
}

void race_fold::on(const event&, const race_cancelled&) {}

void race_fold::on(const event&, const race_ended& body) {
  ended_ = body;
}

void race_fold::on(const event&, const race_resumed& body) {
  ended_.reset();
  resumes_ = std::max(resumes_ + 1, body.resumes);
  spec_.rounds = body.rounds;
  spec_.deadline = body.deadline;
  spec_.budget = body.budget;
}

void race_fold::judge_end(worker_standing& out, const worker_state& x) const {
  const auto end = [&](worker_end how, const std::string& why) {
    out.has_ended = true;
    out.end = how;
    out.reason = why;
  };
  if (x.retired) {
    end(worker_end::retired, x.retired->reason);
  } else if (winner_ && winner_->worker != out.worker) {
    end(worker_end::cancelled, "the race was decided");
  } else if (out.progress.round > spec_.rounds) {
    const auto last = x.rounds.find(spec_.rounds);
    end(worker_end::rounds_spent, last == x.rounds.end() ? "" : last->second.why);
  }
}

worker_standing race_fold::standing_of(const worker_state& x) const {
  worker_standing out;
  out.worker = x.spec.worker;
  out.starts = x.starts;
  auto& progress = out.progress;
  progress.round = x.reached();
  progress.fallback = fallback_index(x.spec, x.choice);
  if (const auto before = x.rounds.find(progress.round - 1); before != x.rounds.end()) {
    progress.error_context = before->second.error_context;
    progress.last_code = before->second.code;
  }
  for (const auto& [number, round] : x.rounds) {
    for (const auto& digest : round.digests) {
      auto& own = progress.own_digests;
      if (number < progress.round && std::ranges::find(own, digest) == own.end()) {
        own.push_back(digest);
      }
    }
  }
  if (const auto now = x.rounds.find(progress.round); now != x.rounds.end()) {
    for (const auto& y : now->second.evaluated) {
      progress.evaluated.push_back(y.known);
    }
  }
  judge_end(out, x);
  return out;
}

race_standing race_fold::standing() const {
  race_standing out;
  out.last_seq = last_seq_;
  out.resumes = resumes_;
  for (const auto& spec : spec_.workers) {
    out.workers.push_back(standing_of(workers_.at(spec.worker)));
  }
  out.candidates = candidates_;
  out.totals = totals_;
  out.totals.resumes = resumes_;
  out.replies = static_cast<std::uint32_t>(paid_.size());
  out.passed = passed_;
  return out;
}

std::uint64_t race_fold::seq_of(const worker_id& worker, const source_digest& digest) const {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) {
    return 0;
  }
  for (const auto& [number, round] : it->second.rounds) {
    for (const auto& x : round.evaluated) {
      if (x.known.digest == digest) {
        return x.seq;
      }
    }
  }
  return 0;
}

}  // namespace regatta
