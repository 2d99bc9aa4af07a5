// SPDX-License-Identifier: Apache-2.0
/// \file
/// The rules of a WORKER: prompt → reply → candidate → reservation → evaluation → next round, or winner.
///
///   prompting --text--> checking --code--> reserving --granted--> running --accepted--> ended
///    ^   |  ^              |                |     \                |  |  \-- failed ---+
///    |   +--+ no text,     |                |      +--> waiting ---+  +- sandbox_failed: reserving again
///    |        next attempt | EXTRACT_FAIL   | settled: DUPLICATE                       |
///    +---------------------+----------------+----------- next round -------------------+
///
/// An LLM failure uses up an attempt, never a round, and is not shown to the model. A model that is gone for good, or
/// that fails in all attempts of a round, is left for the next of the worker's fallbacks, in the same round. Messages
/// whose key is not the current one, and answers to a step that is over, change nothing.
#pragma once

#include "actors/code_extractor.hpp"
#include "actors/worker_brief.hpp"
#include "messages/dedup.hpp"
#include "messages/error.hpp"
#include "messages/evaluation.hpp"
#include "messages/event.hpp"
#include "messages/llm.hpp"
#include "messages/race.hpp"

#include <caf/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regatta {

/// A request to send. Its answer comes back with `step`.
struct worker_request {
  std::uint64_t step = 0;
  std::variant<prompt, check_source, reserve, run> body;
};

/// What the shell must do, in this order.
using worker_effect = std::variant<worker_request, settle, release, winner, report, worker_ended>;

class worker_rules {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit worker_rules(worker_order order);

  void begin(time_point now);

  /// Answers to requests. `on_refused` also takes time-outs and dead receivers.
  void on_accepted(std::uint64_t step, time_point now);
  void on_refused(std::uint64_t step, const caf::error& why, time_point now);
  void on_source_report(std::uint64_t step, const source_report& msg, time_point now);
  void on_reservation(std::uint64_t step, const reservation& msg, time_point now);

  void on_prompt_progress(const prompt_progress& msg, time_point now);
  void on_prompt_ended(const prompt_ended& msg, time_point now);
  void on_reservation_resolved(const reservation_resolved& msg, time_point now);
  void on_run_progress(const run_progress& msg, time_point now);
  void on_run_ended(const run_ended& msg, time_point now);
  /// To be called at or after `deadline()`.
  void on_wake(time_point now);

  /// When whoever holds the work has been silent for too long; empty if nobody has to beat.
  std::optional<time_point> deadline() const { return deadline_; }
  bool is_ended() const { return phase_ == phase::ended; }
  std::vector<worker_effect> take_effects() { return std::exchange(effects_, {}); }

private:
  enum class phase : std::uint8_t { starting, prompting, checking, reserving, waiting, running, ended };

  void enter(phase next, std::optional<time_point> deadline);
  void send(std::variant<prompt, check_source, reserve, run> body);
  void report_fact(fact body);
  void show(worker_phase where, std::string note);

  const model_choice& choice() const;
  void ask_model(std::string note, time_point now);
  void send_prompt();
  /// False: there is no other model left.
  bool fall_back(const std::string& why, time_point now);
  void on_llm_failure(llm_outcome how, const std::string& error, time_point now);
  void extract(const prompt_ended& reply, time_point now);
  void check_again_or_end(const std::string& why, time_point now);
  void send_check();
  void ask_registry();
  void send_reserve();
  void on_duplicate_settled(const reservation& msg, time_point now);
  void evaluate(time_point now);
  void send_run();
  void on_run_lost(const std::string& why, time_point now);
  void conclude(const evaluation& result, time_point now);
  void on_failed_evaluation(const evaluation& result, time_point now);
  void retry_evaluation(const std::string& why);
  void next_round(const std::string& why, std::string error_context, time_point now);
  void end(worker_end how, std::string reason);

  /// True for the message's key being that of the current prompt.
  bool is_current_prompt(const auto& msg) const {
    return phase_ == phase::prompting && msg.race == brief_->race && msg.round == progress_.round &&
           msg.attempt == attempt_;
  }
  bool is_current_run(const auto& msg) const {
    return phase_ == phase::running && msg.race == brief_->race && msg.round == progress_.round &&
           msg.attempt == run_attempt_;
  }

  /// From a reply until its round is over: a worker that waits for its model has none.
  struct candidate {
    found_code found;
    bool is_cut = false;
    std::uint32_t check_attempt = 1;
    std::string code;
    source_digest digest;
    bool is_repeat = false;  ///< This worker had sent `code` before.
  };

  shared_brief brief_;
  worker_spec spec_;
  std::uint32_t start_;
  std::uint32_t rounds_;
  worker_progress progress_;
  phase phase_ = phase::starting;
  std::uint64_t step_ = 0;
  std::optional<time_point> deadline_;
  bool has_asked_again_ = false;     ///< The current step's request was sent a second time.
  std::uint32_t attempt_ = 1;        ///< Of the prompt, in this round.
  std::uint32_t first_attempt_ = 1;  ///< Of this model, in this round.
  std::uint32_t run_attempt_ = 1;    ///< Of the evaluation, in this round.
  std::unique_ptr<candidate> candidate_;
  worker_phase shown_ = worker_phase::starting;
  std::string shown_note_;
  std::vector<worker_effect> effects_;
};

}  // namespace regatta
