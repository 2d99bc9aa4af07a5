// SPDX-License-Identifier: Apache-2.0
#include "actors/run_recording.hpp"

#include "actors/llm/recording_codec.hpp"
#include "messages/endings.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace regatta {

namespace {

using place = std::pair<std::uint32_t, std::uint32_t>;  ///< (round, worker): the order of a replay.

bool is_unheard(llm_outcome x) {
  return x == llm_outcome::cancelled || x == llm_outcome::lost_in_flight || x == llm_outcome::budget_exhausted ||
         x == llm_outcome::provider_stopped;
}

/// A word that a replay reads as the same outcome.
std::string finish_of(const reply_row& x) {
  const auto& word = x.finish_reason;
  const bool is_cut = word == "length" || word == "max_tokens" || word == "max_output_tokens";
  switch (x.outcome) {
    case llm_outcome::truncated:
      return is_cut ? word : "length";
    case llm_outcome::refused:
      return "content_filter";
    default:
      return word.empty() || is_cut || word == "content_filter" ? "stop" : word;
  }
}

recorded_reply line_of(const reply_row& x) {
  recorded_reply out;
  out.key = {x.worker, x.round, x.attempt};
  out.response_id = x.response_id;
  out.usage = x.usage;
  if (is_paid_answer(x.outcome)) {
    out.finish = finish_of(x);
    if (!x.text.empty()) {
      out.deltas = {x.text};
    }
  } else {
    out.error = x.outcome;
    out.error_text = x.error;
    out.http_status = x.http_status;
  }
  return out;
}

/// How the rounds of a race came out.
class verdicts {
public:
  explicit verdicts(const race_record& record) {
    for (const auto& worker : record.workers) {
      numbers_[worker.worker] = worker.number;
    }
    for (const auto& round : record.rounds) {
      const place at{round.round, numbers_[round.worker]};
      if (round.has_won) {
        winner_ = at;
      }
      if (!round.was_accepted && !round.has_won && !round.why.empty()) {
        failed_.insert(at);
      }
    }
    for (const auto& x : record.evaluations) {
      if (x.is_accepted) {
        passed_.insert({x.round, numbers_[x.worker]});
      }
    }
  }

  bool might_win_early(const place& at) const { return winner_ && at < *winner_ && !failed_.contains(at); }
  /// Empty: it had no verdict.
  std::optional<bool> accepted(const place& at) const {
    if (failed_.contains(at)) {
      return false;
    }
    return passed_.contains(at) || winner_ == at ? std::optional{true} : std::nullopt;
  }

private:
  std::map<worker_id, std::uint32_t> numbers_;
  std::set<place> failed_;
  std::set<place> passed_;
  std::optional<place> winner_;
};

}  // namespace

run_recording record_run(const race_record& record, const std::vector<reply_row>& replies) {
  run_recording out;
  const verdicts known{record};
  std::map<recording_key, reply_row> chosen;
  for (const auto& x : replies) {
    if (is_unheard(x.outcome)) {
      ++out.unheard;
      continue;
    }
    // What was paid for is what a worker went on with; else the last word.
    auto& slot = chosen[{x.worker, x.round, x.attempt}];
    if (slot.worker == 0 || is_paid_answer(x.outcome) || !is_paid_answer(slot.outcome)) {
      slot = x;
    }
  }
  out.text = recording_header(record.race.workers);
  for (const auto& [key, x] : chosen) {
    const place at{x.round, x.worker};
    if (has_text(x.outcome) && known.might_win_early(at)) {
      ++out.undecided;
      continue;
    }
    auto line = line_of(x);
    if (has_text(x.outcome)) {
      line.is_accepted = known.accepted(at);
    }
    out.text += recording_line(line);
    ++out.replies;
    out.failures += line.error ? 1 : 0;
  }
  return out;
}

}  // namespace regatta
