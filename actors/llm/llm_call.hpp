// SPDX-License-Identifier: Apache-2.0
/// \file
/// One `prompt` on its way: its tries, its text so far, its limits, its charges. Pure.
#pragma once

#include "actors/llm/charge.hpp"
#include "actors/llm/http_reply.hpp"
#include "actors/llm/program.hpp"
#include "actors/llm/provider_config.hpp"
#include "actors/llm/provider_queue.hpp"
#include "actors/llm/retry_policy.hpp"
#include "messages/ids.hpp"
#include "messages/llm.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace regatta {

/// Both clocks, passed in: limits are monotonic, what people read is UTC.
struct moment {
  std::chrono::steady_clock::time_point at{};
  std::int64_t utc_us = 0;
};

enum class call_state : std::uint8_t {
  queued,       ///< In its provider's queue.
  backing_off,  ///< Waits by itself, until `retry_at`.
  opening,      ///< Its next try is being booked.
  running,      ///< A try is under way.
  stopping,     ///< Told to stop; its end has not come yet.
  closing,      ///< The try's end is being booked.
};

class llm_call {
public:
  using time_point = std::chrono::steady_clock::time_point;

  llm_call(call_id id, prompt ask, const provider_config& provider, moment now);

  call_id id() const { return id_; }
  const prompt& ask() const { return ask_; }
  const work_key& key() const { return key_; }
  const provider_config& provider() const { return *provider_; }
  call_state state() const { return state_; }
  /// Something of its try is out there.
  bool is_out() const { return state_ == call_state::running || state_ == call_state::stopping; }
  std::uint64_t try_id() const { return try_id_; }
  time_point sent_at() const { return sent_at_; }
  std::uint32_t counted_tries() const { return counted_; }
  std::chrono::milliseconds throttled() const { return throttled_; }
  /// How often this call was refused for a limit: counts where the refusal comes inside a good answer.
  std::uint32_t throttles() const { return throttles_; }
  http_reply* http() { return http_ ? &*http_ : nullptr; }

  /// The next try has its number; it is being booked.
  void open(std::uint64_t try_id);
  void start_try(std::uint64_t try_id, moment now);
  /// The ledger's row of the current try.
  void set_row(std::uint64_t row) { row_ = row; }
  std::uint64_t row() const { return row_; }
  /// What is to follow once the ended try is booked: another one, or the call's end.
  void close(try_result result, retry_decision next);
  try_result take_pending() { return std::exchange(pending_, {}); }
  const retry_decision& next_step() const { return next_step_; }
  /// The ledger keeps it waiting. Empty `why`: no longer.
  void hold(std::string why);
  void add(const charge& x) { add_to(charged_, x); }
  /// Tries that a former process had sent.
  void add_lost(std::uint32_t tries, nano_units cost);
  /// `is_alive`: something came; the idle limit starts anew.
  void on_life(time_point now) { last_life_ = now; }
  /// Text of a program or a recording.
  void append(std::string_view text, time_point now);
  /// After `http()` took something.
  void note_text(time_point now);

  /// A limit has passed: why, for `stop`. Empty: none.
  std::optional<llm_outcome> overdue(time_point now, std::string& why) const;
  /// The reply is there and only the server does not close: time to stop reading.
  bool is_lingering(time_point now) const;
  /// `as`: the outcome that counts when the end comes; empty: whatever the reply says.
  void stop(std::optional<llm_outcome> as, std::string why, time_point now);
  /// Told to stop so long ago that whoever runs it must be dead.
  bool is_stuck(time_point now) const;

  /// The end of a try, with a stop's reason over what the reply says.
  try_result conclude(try_result result) const;
  try_result conclude_program(const program_ended& end) const;
  /// Back to waiting; text so far is dropped.
  void retry(bool is_shared, bool is_counted, std::chrono::milliseconds wait, std::string why, time_point now);
  bool is_due(time_point now) const { return state_ == call_state::backing_off && now >= retry_at_; }
  void requeue() { state_ = call_state::queued; }
  /// Since when it has been waiting for a provider that is down since then.
  std::chrono::milliseconds waited_since(time_point since, time_point now) const;
  const std::string& last_failure() const { return retry_why_; }

  /// When to look at it again, if nothing happens before.
  time_point due() const;
  /// Keeps the earliest time at which somebody will look. False: somebody will already.
  bool arm(time_point at);
  /// That time has come. False: an entry that an earlier one has replaced.
  bool disarm(time_point at);

  /// Whole characters not told yet, if the last delta is old enough.
  std::optional<prompt_delta> take_delta(time_point now, bool is_last);
  /// If it is time for one, or the phase changed.
  std::optional<prompt_progress> take_progress(moment now, const provider_queue& queue, const std::string& note);
  /// For people, whatever its outcome.
  void warn(std::string text) { warning_ = std::move(text); }
  /// With the sum of all its charges.
  prompt_ended ended(try_result result, moment now) const;

private:
  const std::string& text() const { return http_ ? http_->text() : text_; }
  prompt_phase phase(time_point now, const provider_queue& queue) const;
  std::pair<time_point, std::string> waits_for(const provider_queue& queue, time_point now) const;
  std::int64_t until_to_tell(time_point until, moment now);

  call_id id_;
  prompt ask_;
  work_key key_;
  const provider_config* provider_;
  call_state state_ = call_state::queued;
  time_point accepted_at_;
  std::uint64_t try_id_ = 0;
  std::uint32_t tries_ = 0;
  std::uint32_t counted_ = 1;
  std::chrono::milliseconds throttled_{};
  std::uint32_t throttles_ = 0;
  time_point sent_at_{};
  std::optional<time_point> last_life_;
  std::optional<time_point> finished_at_;
  std::optional<time_point> first_text_at_;
  time_point retry_at_{};
  std::string retry_why_;
  std::optional<time_point> stopped_at_;
  std::optional<llm_outcome> stop_outcome_;
  std::string stop_why_;
  std::optional<http_reply> http_;
  try_result pending_;
  retry_decision next_step_;
  std::uint64_t row_ = 0;
  std::string hold_why_;
  charge charged_;
  std::uint32_t lost_ = 0;
  std::string text_;
  std::size_t told_ = 0;
  std::size_t looked_at_ = 0;  ///< So much of the text was there when the last delta was taken.
  time_point last_delta_{};
  std::optional<time_point> last_progress_;
  prompt_phase last_phase_ = prompt_phase::queued;
  std::int64_t told_until_us_ = 0;
  std::string warning_;
  time_point armed_ = time_point::max();
};

}  // namespace regatta
