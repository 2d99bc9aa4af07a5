// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/charge.hpp"

#include "actors/llm/prices.hpp"
#include "actors/llm/wire_request.hpp"
#include "messages/outcome.hpp"

#include <algorithm>

namespace regatta {

namespace {

/// Statuses that say that no model ran. 408 and the other 5xx may come from a gateway that gave up on a model which
/// goes on.
bool is_refusal(std::uint32_t status) {
  return (status >= 300 && status < 500 && status != 408) || status == 503 || status == 529;
}

}  // namespace

std::uint64_t call_bound::tokens() const {
  return add_tokens(input_tokens, output_tokens);
}

call_bound bound_of(const prompt& ask, const provider_config& provider) {
  call_bound out;
  out.input_tokens = ask.system.size() + ask.user.size() + prompt_overhead_tokens;
  out.output_tokens = output_cap_of(ask.choice, provider);
  if (const auto* prices = prices_of(provider, ask.choice.model)) {
    out.price = largest_price_of(*prices, out.input_tokens, out.output_tokens);
  }
  return out;
}

try_reach reach_of(llm_outcome outcome, std::uint32_t http_status, exchange_end how, bool is_settled) {
  if (is_refusal(http_status)) {
    return try_reach::refused;
  }
  if (how == exchange_end::connect_failed || how == exchange_end::refused_by_tls ||
      how == exchange_end::misconfigured) {
    return try_reach::not_asked;
  }
  // Usage that came on the way is not final where the stream's end is missing: some servers count along.
  const bool is_whole = http_status >= 200 && http_status < 300 && is_paid_answer(outcome) &&
                        (is_settled || how == exchange_end::complete);
  return is_whole ? try_reach::whole_reply : try_reach::may_have_run;
}

try_reach reach_of(program_end how) {
  return how == program_end::not_started ? try_reach::not_asked : try_reach::may_have_run;
}

charge charge_of(try_reach reach, const token_usage& usage, const token_prices* prices, const call_bound& bound) {
  charge out;
  if (reach == try_reach::not_asked || reach == try_reach::refused) {
    return out;
  }
  if (reach == try_reach::may_have_run || (!usage.input_tokens && !usage.output_tokens)) {
    out.cost = bound.price;
    out.tokens = bound.tokens();
    out.basis = charge_basis::reserved;
    return out;
  }
  // Half a report is filled up from the bound.
  const auto input = usage.input_tokens.value_or(bound.input_tokens);
  const auto output = usage.output_tokens.value_or(bound.output_tokens);
  const bool is_partial = !usage.input_tokens || !usage.output_tokens;
  out.tokens = add_tokens(input, output);
  if (prices != nullptr) {
    const auto cached = usage.cached_tokens.value_or(0);
    out.cost = usage.input_tokens ? price_of(*prices, {input, cached, usage.cache_written_tokens.value_or(0), output})
                                  : largest_price_of(*prices, input, output);
  }
  out.basis = is_partial ? charge_basis::reserved : charge_basis::usage;
  out.is_above_bound = out.tokens > bound.tokens() || out.cost > bound.price;
  return out;
}

void add_to(charge& sum, const charge& x) {
  sum.cost = add_money(sum.cost, x.cost);
  sum.tokens = add_tokens(sum.tokens, x.tokens);
  sum.basis = std::max(sum.basis, x.basis);
  sum.is_above_bound = sum.is_above_bound || x.is_above_bound;
}

}  // namespace regatta
