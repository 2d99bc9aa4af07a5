// SPDX-License-Identifier: Apache-2.0
/// \file
/// Protocol between workers and the LLM GATEWAY. All of it passes through the race, which keeps the record.
#pragma once

#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/money.hpp"
#include "messages/outcome.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace regatta {

/// One way of asking: which provider of the configuration, which model, how it samples.
struct model_choice {
  std::string provider;  ///< Name of a `[providers.NAME]` table.
  std::string model;
  std::optional<double> temperature;      ///< Not sent if empty.
  std::optional<std::int64_t> seed;       ///< Not sent if empty.
  std::uint32_t max_output_tokens = 0;    ///< 0: the provider's default, which is always sent.
  std::string reasoning_effort;           ///< "", "low", "medium", "high"; not sent if empty.
  REGATTA_FIELDS(provider, model, temperature, seed, max_output_tokens, reasoning_effort);
};

/// What the provider says it used. Absent where it says nothing.
struct token_usage {
  std::optional<std::uint64_t> input_tokens;
  std::optional<std::uint64_t> output_tokens;
  std::optional<std::uint64_t> reasoning_tokens;  ///< Part of `output_tokens`.
  std::optional<std::uint64_t> cached_tokens;     ///< Part of `input_tokens`: read from the provider's cache.
  std::optional<std::uint64_t> cache_written_tokens = {};  ///< Part of `input_tokens`: written to that cache.
  REGATTA_FIELDS(input_tokens, output_tokens, reasoning_tokens, cached_tokens, cache_written_tokens);
};

/// worker -> race -> gateway: ask the model. Answered at once by `accepted` or an error (`ec::unknown_provider`,
/// `ec::unknown_race`, `ec::refused`); what comes of it arrives later as `prompt_progress` and one `prompt_ended`.
/// The same key again is the same question: it is asked of the provider once.
struct prompt {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  model_choice choice;
  std::string system;
  std::string user;
  /// How many workers race; filled in by the race. A `replay` provider keeps its order by it. 0: not said.
  std::uint32_t workers = 0;
  spending_limits budget;  ///< The race's own; filled in by the race. 0: no limit.
  REGATTA_MESSAGE(prompt, race, worker, round, attempt, choice, system, user, workers, budget);
};

enum class prompt_phase : std::uint8_t {
  queued,     ///< Behind the provider's concurrency limit.
  throttled,  ///< Waiting out a back-off; `until_us` says until when.
  sent,       ///< On its way, nothing back yet.
  streaming,
};

/// gateway -> race -> worker: sign of life at least every `progress_interval` while the call is held. May be lost.
struct prompt_progress {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  prompt_phase phase = prompt_phase::queued;
  std::uint64_t text_bytes = 0;  ///< Of the reply, so far.
  std::int64_t until_us = 0;     ///< UTC µs; 0 if not throttled.
  std::string note;              ///< Why throttled, in words; else empty.
  REGATTA_MESSAGE(prompt_progress, race, worker, round, attempt, phase, text_bytes, until_us, note);
};

/// gateway -> race: a piece of the reply, batched (about 20 ms). For progress and stream logs; never for rules.
struct prompt_delta {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::string text;  ///< Whole UTF-8 characters.
  REGATTA_MESSAGE(prompt_delta, race, worker, round, attempt, text);
};

/// gateway -> race -> worker: the one end of a `prompt`.
struct prompt_ended {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  llm_outcome outcome = llm_outcome::transport_failed;
  std::string text;           ///< The reply; what came of it if the outcome is not `replied`.
  std::string finish_reason;  ///< The provider's own word.
  std::string response_id;
  token_usage usage;
  std::string error;          ///< For people; no secrets. Empty if `replied`.
  std::uint32_t http_status = 0;
  std::uint32_t tries = 0;    ///< Calls to the provider, retries included.
  std::chrono::milliseconds first_text{};  ///< Sent → first text; 0 if none.
  std::chrono::milliseconds elapsed{};     ///< Accepted → ended.
  nano_units cost = 0;                     ///< Of all its tries, those lost in flight included.
  charge_basis basis = charge_basis::none;  ///< `reserved` if any part of `cost` is.
  std::uint64_t charged_tokens = 0;        ///< What token budgets were charged with.
  std::uint32_t lost_in_flight = 0;        ///< Tries that a former process had sent and not seen the end of.
  bool is_known = false;                   ///< From the ledger: paid by a former process, not asked again.
  std::string warning = {};                ///< For people, whatever the outcome; once per provider and process.
  REGATTA_MESSAGE(prompt_ended, race, worker, round, attempt, outcome, text, finish_reason, response_id, usage, error,
                  http_status, tries, first_text, elapsed, cost, basis, charged_tokens, lost_in_flight, is_known,
                  warning);
};

/// race -> gateway: end every call of this race (or of one worker, if named). Answered by `prompts_withdrawn` when
/// their streams are closed, so that nothing more is billed.
struct withdraw_prompts {
  race_id race;
  worker_id worker;  ///< Empty: all of them.
  REGATTA_MESSAGE(withdraw_prompts, race, worker);
};

struct prompts_withdrawn {
  race_id race;
  std::uint32_t calls = 0;
  REGATTA_MESSAGE(prompts_withdrawn, race, calls);
};

}  // namespace regatta

REGATTA_ENUM_NAMES(regatta::prompt_phase, 4, {regatta::prompt_phase::queued, "queued"},
                   {regatta::prompt_phase::throttled, "throttled"}, {regatta::prompt_phase::sent, "sent"},
                   {regatta::prompt_phase::streaming, "streaming"});
