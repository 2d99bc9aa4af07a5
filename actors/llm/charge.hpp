// SPDX-License-Identifier: Apache-2.0
/// \file
/// CHARGE: what one try is booked with, before it goes out (its upper bound) and after its end. Pure.
///
/// The one rule behind the table (docs/llm.md has it): what we book is never below what the provider may bill, and
/// never above what was reserved, unless the provider itself reports more.
#pragma once

#include "actors/llm/program.hpp"
#include "actors/llm/provider_config.hpp"
#include "actors/llm/reply.hpp"
#include "actors/llm/transport.hpp"
#include "messages/llm.hpp"
#include "messages/money.hpp"

#include <cstdint>

namespace regatta {

/// Role markers, template and the like, which are tokens but stand in no prompt. The largest that a chat template is
/// known to add to two messages is below 50. Judgement.
inline constexpr std::uint64_t prompt_overhead_tokens = 64;

/// The most that a try can cost.
struct call_bound {
  std::uint64_t input_tokens = 0;   ///< A token is at least one byte.
  std::uint64_t output_tokens = 0;  ///< The cap that is sent.
  nano_units price = 0;             ///< 0 without prices.
  std::uint64_t tokens() const;
};
call_bound bound_of(const prompt& ask, const provider_config& provider);

/// How far a try got, as far as billing goes.
enum class try_reach : std::uint8_t {
  not_asked,     ///< Nothing went out, or nobody bills for it (a recording).
  refused,       ///< Answered before a model ran.
  may_have_run,  ///< It went out; what came is not a whole reply.
  whole_reply,   ///< Its usage, if any, is final.
};
/// `outcome` is the reply's own, whatever stopped it; `is_settled`: the wire's last event came.
try_reach reach_of(llm_outcome outcome, std::uint32_t http_status, exchange_end how, bool is_settled);
try_reach reach_of(program_end how);

struct charge {
  nano_units cost = 0;
  std::uint64_t tokens = 0;
  charge_basis basis = charge_basis::none;
  bool is_above_bound = false;  ///< The provider reports more than it was allowed to use.
};
/// `prices`: null without.
charge charge_of(try_reach reach, const token_usage& usage, const token_prices* prices, const call_bound& bound);

/// The sum of several tries'; `reserved` if any part is.
void add_to(charge& sum, const charge& x);

}  // namespace regatta
