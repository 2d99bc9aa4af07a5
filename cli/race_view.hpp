// SPDX-License-Identifier: Apache-2.0
/// \file
/// RACE VIEW: what a race's events have said so far. Progress display and account read it and nothing else. Pure.
#pragma once

#include "actors/race_standing.hpp"
#include "actors/store_reader.hpp"
#include "messages/event.hpp"
#include "messages/race_control.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace regatta::cli {

class race_view {
public:
  /// Before the first event of a race that is taken up again: what the former processes had reached.
  void begin_at(const race_standing_record& from, std::int64_t now_us);
  void apply(const event& x);
  void apply(const race_closed& x);

  /// In the store's own form, so that the account of a live race and of a stored one are one text.
  const race_record& record() const { return record_; }
  bool has_started() const { return record_.race.started_us != 0; }
  bool is_decided() const { return !record_.race.winner.empty(); }
  bool is_stopping() const { return is_stopping_; }
  /// All of the race is stopped, and the winner's timing is what it waits for.
  bool may_be_timing() const { return is_stopping_ && wants_timing_; }
  /// At least one call ended as `budget_exhausted`.
  bool is_budget_spent() const { return is_budget_spent_; }
  /// Short words on the worker's last evaluation or failure; cleaned.
  const std::string& last_word(std::size_t worker_index) const { return last_words_[worker_index]; }
  /// One line for the account of a race that was taken up again: what did not have to be paid or run anew.
  std::string reuse_line() const;
  /// The winner's last reply.
  const std::string& winning_reply() const { return winning_reply_; }

private:
  worker_row* find(const worker_id& worker);
  round_row& round_of(const worker_id& worker, std::uint32_t round);
  void say(const worker_id& worker, std::string text);

  void on(const race_started& x);
  void on(const worker_started& x);
  void on(const worker_moved& x);
  void on(const prompt_sent& x);
  void on(const reply_delta& x);
  void on(const reply_ended& x);
  void on(const code_extracted& x);
  void on(const candidate_reserved& x);
  void on(const candidate_evaluated& x);
  void on(const round_failed& x);
  void on(const worker_finished& x);
  void on(const winner_decided& x);
  void on(const runner_up& x);
  void on(const race_cancelled& x);
  void on(const race_ended& x);
  void on(const race_resumed& x);

  race_record record_;
  std::vector<std::string> last_words_;
  std::vector<std::string> last_replies_;
  std::string winning_reply_;
  std::int64_t now_us_ = 0;
  std::uint32_t known_replies_ = 0;
  std::uint32_t lost_calls_ = 0;
  std::uint32_t former_evaluations_ = 0;
  bool is_stopping_ = false;
  bool wants_timing_ = false;
  bool is_budget_spent_ = false;
};

/// "exit status 1" and the like: one line for people from an evaluation; cleaned.
std::string verdict_line(const evaluation& x);

}  // namespace regatta::cli
