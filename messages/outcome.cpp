// SPDX-License-Identifier: Apache-2.0
#include "messages/outcome.hpp"

namespace regatta {

std::string to_string(const verdict& x) {
  auto text = to_string(x.outcome);
  text += x.claim == claim::none ? ", no claim" : ", claimed by " + to_string(x.claim);
  return text + ", " + to_string(x.judgement);
}

bool is_accepted(const verdict& x, accept_rule rule) {
  switch (rule) {
    case accept_rule::claimed:
      return x.outcome == outcome::exited && x.claim != claim::none;
    case accept_rule::verified:
      return x.outcome == outcome::exited && x.judgement == judgement::correct;
    case accept_rule::both:
      return is_accepted(x, accept_rule::claimed) && is_accepted(x, accept_rule::verified);
  }
  return false;
}

bool is_unproven(const verdict& x, accept_rule rule) {
  const bool has_claim = x.claim != claim::none || rule != accept_rule::both;
  return needs_judge(rule) && has_claim && x.outcome == outcome::exited && x.judgement == judgement::weak_oracle;
}

std::string_view standing_of(accept_rule rule, bool is_weak) {
  return !needs_judge(rule) ? "claimed, not verified" : is_weak ? "verified by a weak oracle" : "verified";
}

bool has_text(llm_outcome x) {
  return x == llm_outcome::replied || x == llm_outcome::truncated;
}

bool is_final(llm_outcome x) {
  switch (x) {
    case llm_outcome::bad_request:
    case llm_outcome::unauthorized:
    case llm_outcome::context_too_long:
    case llm_outcome::recording_ended:
    case llm_outcome::budget_exhausted:
    case llm_outcome::program_failed:
    case llm_outcome::cancelled:
    case llm_outcome::quota_exhausted:
    case llm_outcome::provider_stopped:
      return true;
    default:
      return false;
  }
}

bool may_fall_back(llm_outcome x) {
  switch (x) {
    case llm_outcome::bad_request:
    case llm_outcome::unauthorized:
    case llm_outcome::context_too_long:
    case llm_outcome::quota_exhausted:
    case llm_outcome::provider_stopped:
    case llm_outcome::program_failed:
      return true;
    default:
      return false;
  }
}

bool is_paid_answer(llm_outcome x) {
  return has_text(x) || x == llm_outcome::empty || x == llm_outcome::refused;
}

}  // namespace regatta
