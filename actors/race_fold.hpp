// SPDX-License-Identifier: Apache-2.0
/// \file
/// RACE FOLD: where a race stands, from its facts alone. Pure. What it says makes a worker that goes on ask the very
/// prompt that its former process had asked.
///
/// A round is done when it has failed, whatever else is known of later ones: a hole is run again.
#pragma once

#include "messages/event.hpp"
#include "messages/race_control.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace regatta {

class race_fold {
public:
  /// In the order of `seq`.
  void apply(const event& x);

  bool has_started() const { return has_started_; }
  /// As the race began; `rounds`, `deadline` and `budget` as the last resume allowed them.
  const race_spec& spec() const { return spec_; }
  const std::string& version() const { return version_; }
  /// Decided, whether or not the race has come to its last event.
  const std::optional<winner_decided>& winner() const { return winner_; }
  /// The last event, if nothing was resumed after it.
  const std::optional<race_ended>& ended() const { return ended_; }
  race_standing standing() const;
  /// `seq` of the `candidate_evaluated` behind a `known_evaluation`; 0: none such.
  std::uint64_t seq_of(const worker_id& worker, const source_digest& digest) const;

private:
  struct told_evaluation {
    known_evaluation known;
    std::uint64_t seq = 0;
  };
  struct round_state {
    std::string code;  ///< What a repair prompt after this round shows.
    std::vector<source_digest> digests;
    std::vector<told_evaluation> evaluated;  ///< Only those that count for or against a candidate.
    bool has_failed = false;
    std::string why;
    std::string error_context;
  };
  struct worker_state {
    worker_spec spec;
    std::map<std::uint32_t, round_state> rounds;
    std::uint32_t starts = 0;
    std::string reply;  ///< The last one.
    bool is_cut = false;
    model_choice choice;  ///< Of the last prompt.
    std::optional<worker_finished> retired;
    std::uint32_t reached() const;
  };

  void on(const event& x, const race_started& body);
  void on(const event& x, const worker_started& body);
  void on(const event& x, const worker_moved& body);
  void on(const event& x, const prompt_sent& body);
  void on(const event& x, const reply_delta& body);
  void on(const event& x, const reply_ended& body);
  void on(const event& x, const code_extracted& body);
  void on(const event& x, const candidate_reserved& body);
  void on(const event& x, const candidate_evaluated& body);
  void on(const event& x, const round_failed& body);
  void on(const event& x, const worker_finished& body);
  void on(const event& x, const winner_decided& body);
  void on(const event& x, const runner_up& body);
  void on(const event& x, const race_cancelled& body);
  void on(const event& x, const race_ended& body);
  void on(const event& x, const race_resumed& body);

  worker_standing standing_of(const worker_state& x) const;
  void judge_end(worker_standing& out, const worker_state& x) const;

  bool has_started_ = false;
  race_spec spec_;
  std::string version_;
  std::uint64_t last_seq_ = 0;
  std::uint32_t resumes_ = 0;
  std::map<worker_id, worker_state> workers_;
  std::vector<settled_candidate> candidates_;
  std::set<source_digest> settled_;
  std::set<std::pair<worker_id, std::pair<std::uint32_t, std::uint32_t>>> paid_;  ///< (worker, (round, attempt)).
  std::optional<winner_decided> winner_;
  std::optional<regatta::winner> passed_;  ///< The decided one; before a decision the first that was accepted.
  std::optional<race_ended> ended_;
  race_ended totals_;
};

/// A sandbox that failed and a run that we stopped say nothing of the candidate.
bool counts_for_candidate(const evaluation& x);

/// What a worker shows its model again after a reply in which nothing usable was found; empty: nothing.
std::string first_block(const std::string& reply, bool is_cut);

/// 0: `choice` itself, or one that `spec` does not have; n: the n-th fallback.
std::uint32_t fallback_index(const worker_spec& spec, const model_choice& choice);

}  // namespace regatta
