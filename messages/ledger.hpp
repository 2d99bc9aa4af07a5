// SPDX-License-Identifier: Apache-2.0
/// \file
/// Protocol between the LLM gateway and the LEDGER, the store's book of every call to a provider: reserved before the
/// call goes out, settled after it, both answered when they are on disk.
///
///   open_call --(committed)--> call_opened --the call--> close_call --(committed)--> call_closed
///
/// One row for each *try*: whatever may be billed stands in the book before it can be.
#pragma once

#include "messages/error.hpp"
#include "messages/fields.hpp"
#include "messages/ids.hpp"
#include "messages/llm.hpp"
#include "messages/money.hpp"
#include "messages/opaque.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace regatta {

/// gateway -> ledger: may this try go out? Answered by `call_opened`, or `ec::budget_spent` (which budget, its limit,
/// what is spent and reserved, what was asked), `ec::store_full` (ask again later), `ec::store_failed`.
/// Idempotent by (race, worker, round, attempt, try_number) within one process.
struct open_call {
  race_id race;
  worker_id worker;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::uint32_t try_number = 1;  ///< Of this process for this key, from 1.
  model_choice choice;           ///< As sent: with the output cap that was really put in.
  std::string wire;              ///< `responses`, `chat`, `anthropic`, `relay`, `command`, `replay`.
  std::string prompt_digest;     ///< SHA-256 of system + NUL + user.
  std::uint64_t reserved_tokens = 0;  ///< Upper bound of input and output together.
  nano_units reserved = 0;            ///< Upper bound of the price; 0 without prices.
  std::string price_digest;           ///< Of the price table that `reserved` was reckoned with; empty: none.
  spending_limits race_budget;        ///< 0: no limit.
  spending_limits process_budget;
  spending_limits day_budget;         ///< UTC day, over every process on this store.
  REGATTA_MESSAGE(open_call, race, worker, round, attempt, try_number, choice, wire, prompt_digest, reserved_tokens,
                  reserved, price_digest, race_budget, process_budget, day_budget);
};

struct call_opened {
  std::uint64_t call = 0;  ///< Row of the ledger; 0 if `known` is set.
  /// A former process has asked this very question and its paid answer is on disk: nothing is asked again.
  std::optional<prompt_ended> known;
  /// Tries of this key that were in flight when their process died; each is charged at its full reservation.
  std::uint32_t lost_in_flight = 0;
  nano_units lost_cost = 0;
  REGATTA_MESSAGE(call_opened, call, known, lost_in_flight, lost_cost);
};

/// gateway -> ledger: how a try ended. Answered by `call_closed` when it is on disk, or `ec::store_full`,
/// `ec::store_failed`. Idempotent by `call`.
struct close_call {
  std::uint64_t call = 0;
  prompt_ended ended;        ///< Of this try; `cost` and `basis` are this try's.
  bool is_answer = false;    ///< The last try of its prompt: this is what the worker hears.
  REGATTA_MESSAGE(close_call, call, ended, is_answer);
};

struct call_closed {
  std::uint64_t call = 0;
  REGATTA_MESSAGE(call_closed, call);
};

using ledger_actor = caf::typed_actor<caf::replies_to<open_call>::with<call_opened>,
                                      caf::replies_to<close_call>::with<call_closed>>;

}  // namespace regatta
