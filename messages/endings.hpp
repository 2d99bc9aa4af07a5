// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the other parts of a race can end: a look for duplicates, an extraction, an LLM call, a worker, a race. Closed
/// enums with stable names; what a candidate's run can end as stands in messages/outcome.hpp.
#pragma once

#include "messages/enums.hpp"

#include <cstdint>

namespace regatta {

/// Whether a digest was seen before in this race. KernelAgent's words, which its files carry.
enum class duplicate : std::uint8_t { unique, duplicate_same_worker, duplicate_cross_worker };

/// What to do with a worker whose candidate another worker had first.
enum class duplicate_policy : std::uint8_t {
  reprompt,  ///< Tell it the verdict and ask for something different.
  retire,    ///< KernelAgent's way: the worker ends.
};

/// How finding the candidate in a reply ended. All but `found` are fed back to the model and cost the round.
enum class extraction : std::uint8_t {
  found,
  no_code,        ///< No block that could be a program.
  truncated,      ///< The last block never ends and the reply was cut at its token limit.
  syntax_error,   ///< A block, but not Python; the text says line and reason.
  no_entry_point, ///< Python, but without the class or function that the stage asks for.
  bad_bytes,      ///< NUL bytes or not UTF-8, so that no interpreter would take it.
  too_large,      ///< More than limits' `candidate_bytes`.
};

/// How one LLM call ended. Only `replied` and `truncated` bring text that a round is spent on.
enum class llm_outcome : std::uint8_t {
  replied,
  truncated,         ///< Text, cut by the output limit.
  empty,             ///< A good status and no text (reasoning may have eaten the limit).
  refused,           ///< The model or a filter declined.
  rate_limited,      ///< 429, after all waiting that the deadline allowed.
  overloaded,        ///< 5xx, 529, 408, after all tries.
  context_too_long,  ///< The prompt does not fit this model.
  bad_request,       ///< 4xx that no second try mends (unknown model, bad parameter).
  unauthorized,      ///< 401, 403: key missing, wrong or without right.
  transport_failed,  ///< No connection, TLS, reset, cut stream.
  timed_out,         ///< Idle limit or total deadline.
  malformed,         ///< Bytes that are not the protocol they claim to be.
  program_failed,    ///< A `command` provider's program exited non-zero or could not be started.
  recording_ended,   ///< A `replay` provider has no entry for this worker, round and attempt.
  budget_exhausted,  ///< A budget of ours is spent.
  cancelled,
  quota_exhausted,   ///< The provider's side: 402, `insufficient_quota`. Gone for good, for this key.
  provider_stopped,  ///< By us: it billed more than was reserved, or its prices are unknown under a money budget.
  lost_in_flight,    ///< In the ledger only: its process died before it ended.
};
/// True for the outcomes that carry a text to work with.
bool has_text(llm_outcome x);
/// True if another worker or a later call with the same settings cannot fare better either.
bool is_final(llm_outcome x);
/// True if the same question to another model or provider may fare better although this one is gone for good.
bool may_fall_back(llm_outcome x);
/// True if the provider has been paid for it: such a reply is kept and never asked for again.
bool is_paid_answer(llm_outcome x);

/// Where a worker is, as users see it.
enum class worker_phase : std::uint8_t {
  starting,
  prompting,   ///< Waiting for the model.
  extracting,  ///< Looking for code in the reply, checking its syntax.
  waiting,     ///< Another worker evaluates the same candidate.
  queued,      ///< Waiting for a slot.
  evaluating,
  ended,
};

/// Why a worker ended.
enum class worker_end : std::uint8_t {
  won,
  rounds_spent,
  retired,     ///< `--on-duplicate retire`.
  cancelled,
  llm_failed,
  sandbox_failed,  ///< Infrastructure, after its retries.
  crashed,         ///< A bug or a lost node; the race starts it again elsewhere while that is allowed.
  problem_failed,  ///< The judge cannot use the problem: no candidate could pass.
};

/// How a race ended.
enum class race_end : std::uint8_t {
  won,
  no_passing_solution,
  cancelled,
  llm_failed,
  sandbox_failed,
  deadline,
  internal,
  problem_failed,  ///< The judge cannot use the problem.
  weak_oracle,     ///< A candidate is right, but idleness would pass, too: it is `unproven`.
};

}  // namespace regatta

REGATTA_ENUM_NAMES(regatta::duplicate, 3, {regatta::duplicate::unique, "unique"},
                   {regatta::duplicate::duplicate_same_worker, "duplicate_same_worker"},
                   {regatta::duplicate::duplicate_cross_worker, "duplicate_cross_worker"});
REGATTA_ENUM_NAMES(regatta::duplicate_policy, 2, {regatta::duplicate_policy::reprompt, "reprompt"},
                   {regatta::duplicate_policy::retire, "retire"});
REGATTA_ENUM_NAMES(regatta::extraction, 7, {regatta::extraction::found, "found"},
                   {regatta::extraction::no_code, "no_code"}, {regatta::extraction::truncated, "truncated"},
                   {regatta::extraction::syntax_error, "syntax_error"},
                   {regatta::extraction::no_entry_point, "no_entry_point"},
                   {regatta::extraction::bad_bytes, "bad_bytes"}, {regatta::extraction::too_large, "too_large"});
REGATTA_ENUM_NAMES(regatta::llm_outcome, 19, {regatta::llm_outcome::replied, "replied"},
                   {regatta::llm_outcome::truncated, "truncated"}, {regatta::llm_outcome::empty, "empty"},
                   {regatta::llm_outcome::refused, "refused"},
                   {regatta::llm_outcome::rate_limited, "rate_limited"},
                   {regatta::llm_outcome::overloaded, "overloaded"},
                   {regatta::llm_outcome::context_too_long, "context_too_long"},
                   {regatta::llm_outcome::bad_request, "bad_request"},
                   {regatta::llm_outcome::unauthorized, "unauthorized"},
                   {regatta::llm_outcome::transport_failed, "transport_failed"},
                   {regatta::llm_outcome::timed_out, "timed_out"}, {regatta::llm_outcome::malformed, "malformed"},
                   {regatta::llm_outcome::program_failed, "program_failed"},
                   {regatta::llm_outcome::recording_ended, "recording_ended"},
                   {regatta::llm_outcome::budget_exhausted, "budget_exhausted"},
                   {regatta::llm_outcome::cancelled, "cancelled"},
                   {regatta::llm_outcome::quota_exhausted, "quota_exhausted"},
                   {regatta::llm_outcome::provider_stopped, "provider_stopped"},
                   {regatta::llm_outcome::lost_in_flight, "lost_in_flight"});
REGATTA_ENUM_NAMES(regatta::worker_phase, 7, {regatta::worker_phase::starting, "starting"},
                   {regatta::worker_phase::prompting, "prompting"},
                   {regatta::worker_phase::extracting, "extracting"}, {regatta::worker_phase::waiting, "waiting"},
                   {regatta::worker_phase::queued, "queued"}, {regatta::worker_phase::evaluating, "evaluating"},
                   {regatta::worker_phase::ended, "ended"});
REGATTA_ENUM_NAMES(regatta::worker_end, 8, {regatta::worker_end::won, "won"},
                   {regatta::worker_end::rounds_spent, "rounds_spent"}, {regatta::worker_end::retired, "retired"},
                   {regatta::worker_end::cancelled, "cancelled"}, {regatta::worker_end::llm_failed, "llm_failed"},
                   {regatta::worker_end::sandbox_failed, "sandbox_failed"},
                   {regatta::worker_end::crashed, "crashed"},
                   {regatta::worker_end::problem_failed, "problem_failed"});
REGATTA_ENUM_NAMES(regatta::race_end, 9, {regatta::race_end::won, "won"},
                   {regatta::race_end::no_passing_solution, "no_passing_solution"},
                   {regatta::race_end::cancelled, "cancelled"}, {regatta::race_end::llm_failed, "llm_failed"},
                   {regatta::race_end::sandbox_failed, "sandbox_failed"}, {regatta::race_end::deadline, "deadline"},
                   {regatta::race_end::internal, "internal"},
                   {regatta::race_end::problem_failed, "problem_failed"},
                   {regatta::race_end::weak_oracle, "weak_oracle"});
