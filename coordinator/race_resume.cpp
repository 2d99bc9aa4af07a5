// SPDX-License-Identifier: Apache-2.0
// What a later start of a worker has to know, and how a race goes on from the record of a former process.
#include "actors/race_fold.hpp"
#include "actors/worker_feedback.hpp"
#include "coordinator/race_rules.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace regatta {

void race_rules::track(racer& who, const fact& body) {
  if (const auto* found = std::get_if<code_extracted>(&body)) {
    const auto reply = std::exchange(who.reply, {});
    who.round_code = found->result == extraction::found ? found->code : first_block(reply, who.is_cut);
    if (!found->digest.empty()) {
      who.round_digests.push_back(found->digest);
    }
  } else if (const auto* failed = std::get_if<round_failed>(&body)) {
    track_failed_round(who, *failed);
  } else if (const auto* evaluated = std::get_if<candidate_evaluated>(&body)) {
    ++ended_.evaluations;
    track_evaluation(who, *evaluated);
  }
}

void race_rules::track_evaluation(racer& who, const candidate_evaluated& body) {
  if (!counts_for_candidate(body.result)) {
    return;
  }
  auto& known = who.progress.evaluated;
  std::erase_if(known, [&](const auto& x) { return x.digest == body.digest; });
  known.push_back({body.digest, body.result});
}

void race_rules::track_failed_round(racer& who, const round_failed& body) {
  auto& progress = who.progress;
  progress.round = body.round + 1;
  progress.error_context = body.error_context;
  progress.last_code = std::exchange(who.round_code, {});
  progress.evaluated.clear();
  for (auto& digest : std::exchange(who.round_digests, {})) {
    if (std::ranges::find(progress.own_digests, digest) == progress.own_digests.end()) {
      progress.own_digests.push_back(std::move(digest));
    }
  }
}

void race_rules::take_up(const race_standing& from, time_point now) {
  adopt(from);
  emit(race_resumed{config_.version, ended_.resumes, static_cast<std::uint32_t>(living_), from.replies,
                    ended_.evaluations, config_.spec.rounds, config_.spec.deadline, config_.spec.budget});
  effects_.emplace_back(restore_race{config_.spec.race, settled_so_far(from)});
  if (from.passed) {
    on_winner(*from.passed, now);
  }
  if (is_running() && living_ == 0) {
    decide_without_winner(now);
  }
  start_workers(now);
}

void race_rules::adopt(const race_standing& from) {
  seq_ = from.last_seq;
  ended_.input_tokens = from.totals.input_tokens;
  ended_.output_tokens = from.totals.output_tokens;
  ended_.llm_calls = from.totals.llm_calls;
  ended_.evaluations = from.totals.evaluations;
  ended_.runners_up = from.totals.runners_up;
  ended_.cost = from.totals.cost;
  ended_.reserved_cost = from.totals.reserved_cost;
  ended_.lost_in_flight = from.totals.lost_in_flight;
  ended_.resumes = from.resumes + 1;
  for (const auto& x : from.workers) {
    auto* who = find(x.worker);
    if (who == nullptr) {
      continue;
    }
    who->start = x.starts;
    who->former_starts = x.starts;
    who->progress = x.progress;
    if (x.has_ended) {
      who->end = x.end;
      who->reason = x.reason;
      --living_;
    }
  }
}

/// With the candidates of rounds that are not over: whoever has the same one must not run it again.
std::vector<settled_candidate> race_rules::settled_so_far(const race_standing& from) const {
  auto out = from.candidates;
  for (const auto& worker : from.workers) {
    for (const auto& known : worker.progress.evaluated) {
      out.push_back(
          {worker.worker, worker.progress.round, known.digest, verdict_of(known.result), run_feedback(known.result)});
    }
  }
  return out;
}

}  // namespace regatta
