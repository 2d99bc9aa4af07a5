// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/gone_models.hpp"

namespace regatta {

namespace {

/// Stands for all models of a provider; no model has an empty name in a configuration.
const std::string every_model;

bool is_unknown_model(const try_result& x) {
  return x.outcome == llm_outcome::bad_request &&
         (x.http_status == 404 || x.error.find("model_not_found") != std::string::npos);
}

}  // namespace

std::optional<try_result> gone_models::answer_for(const std::string& provider, const std::string& model,
                                                  std::uint64_t caller, time_point now) {
  for (const auto& which : {every_model, model}) {
    const auto it = entries_.find({provider, which});
    if (it == entries_.end()) {
      continue;
    }
    if (now >= it->second.until && it->second.let_through == 0) {
      it->second.let_through = caller;
    }
    if (it->second.let_through == caller) {
      continue;
    }
    auto out = it->second.answer;
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - it->second.since);
    out.error += " (asked " + std::to_string(age.count()) + " s ago, not asked again)";
    return out;
  }
  return std::nullopt;
}

void gone_models::on_ended(const std::string& provider, const std::string& model, const try_result& result,
                           time_point now) {
  const bool is_all = result.outcome == llm_outcome::unauthorized;
  if (!is_all && result.outcome != llm_outcome::quota_exhausted && !is_unknown_model(result)) {
    // Whatever else came of it: the next call finds out for itself.
    entries_.erase({provider, every_model});
    entries_.erase({provider, model});
    return;
  }
  if (!is_all) {
    entries_.erase({provider, every_model});
  }
  try_result answer;
  answer.outcome = result.outcome;
  answer.error = result.error;
  answer.http_status = result.http_status;
  answer.is_permanent = true;
  entries_[{provider, is_all ? every_model : model}] = {std::move(answer), now, now + memory, 0};
}

void gone_models::on_gone(std::uint64_t caller) {
  for (auto& [key, x] : entries_) {
    x.let_through = x.let_through == caller ? 0 : x.let_through;
  }
}

}  // namespace regatta
