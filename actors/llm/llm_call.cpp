// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/llm_call.hpp"

#include "actors/llm/utf8_text.hpp"
#include "actors/llm/wire_request.hpp"
#include "messages/limits.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace regatta {

namespace {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

/// Several tokens per message: an eye sees no difference, and the race has a fifth of the work.
constexpr auto delta_interval = 20ms;
/// Twice as often as promised, so that one late timer is no broken promise.
constexpr auto progress_every = milliseconds{progress_interval} / 2;
/// A server that has sent the wire's last event closes its stream at once, or never.
constexpr auto closing_grace = 1s;
/// Usage follows `finish_reason` within one event; a server that sends none may keep the stream open.
constexpr auto usage_grace = 5s;
/// Longer than the command runner's own limit on a kill (5 s).
constexpr auto stop_timeout = 8s;

std::string seconds(milliseconds x) {
  return std::to_string(x.count() / 1000) + " s";
}

}  // namespace

llm_call::llm_call(call_id id, prompt ask, const provider_config& provider, moment now)
    : id_{id},
      ask_{std::move(ask)},
      key_{ask_.race, ask_.worker, ask_.round, ask_.attempt},
      provider_{&provider},
      accepted_at_{now.at} {}

void llm_call::open(std::uint64_t try_id) {
  state_ = call_state::opening;
  try_id_ = try_id;
}

void llm_call::close(try_result result, retry_decision next) {
  state_ = call_state::closing;
  pending_ = std::move(result);
  next_step_ = std::move(next);
}

void llm_call::hold(std::string why) {
  hold_why_ = std::move(why);
}

void llm_call::add_lost(std::uint32_t tries, nano_units cost) {
  lost_ += tries;
  if (tries != 0) {
    add_to(charged_, {cost, tries * bound_of(ask_, *provider_).tokens(), charge_basis::reserved, false});
  }
}

milliseconds llm_call::waited_since(time_point since, time_point now) const {
  return duration_cast<milliseconds>(now - std::max(since, accepted_at_));
}

void llm_call::start_try(std::uint64_t try_id, moment now) {
  state_ = call_state::running;
  try_id_ = try_id;
  ++tries_;
  sent_at_ = now.at;
  last_life_.reset();
  finished_at_.reset();
  first_text_at_.reset();
  text_.clear();
  told_ = 0;
  looked_at_ = 0;
  http_.reset();
  if (speaks_http(provider_->kind)) {
    http_.emplace(provider_->kind, output_cap_of(ask_.choice, *provider_));
  }
}

void llm_call::append(std::string_view text, time_point now) {
  text_ += text;
  on_life(now);
  note_text(now);
}

void llm_call::note_text(time_point now) {
  if (!first_text_at_ && !text().empty()) {
    first_text_at_ = now;
  }
  if (!finished_at_ && http_ && (http_->is_finished() || http_->is_settled())) {
    finished_at_ = now;
  }
}

std::optional<llm_outcome> llm_call::overdue(time_point now, std::string& why) const {
  if (state_ != call_state::running || finished_at_ || provider_->kind == provider_kind::replay) {
    return std::nullopt;
  }
  if (now - sent_at_ >= provider_->total_timeout) {
    why = "not ended within total_timeout (" + seconds(provider_->total_timeout) + ")";
  } else if (!last_life_ && now - sent_at_ >= provider_->first_timeout) {
    why = "nothing within first_timeout (" + seconds(provider_->first_timeout) + ")";
  } else if (last_life_ && now - *last_life_ >= provider_->idle_timeout) {
    why = "silent for idle_timeout (" + seconds(provider_->idle_timeout) + ")";
  } else {
    return std::nullopt;
  }
  return llm_outcome::timed_out;
}

bool llm_call::is_lingering(time_point now) const {
  if (state_ != call_state::running || !finished_at_) {
    return false;
  }
  return now - *finished_at_ >= (http_->is_settled() ? closing_grace : usage_grace);
}

void llm_call::stop(std::optional<llm_outcome> as, std::string why, time_point now) {
  if (state_ == call_state::running) {
    state_ = call_state::stopping;
    stopped_at_ = now;
  }
  // A withdrawal counts more than a limit or a settled reply before it.
  if (!stop_outcome_ || as == llm_outcome::cancelled) {
    stop_outcome_ = as;
    stop_why_ = std::move(why);
  }
}

bool llm_call::is_stuck(time_point now) const {
  return state_ == call_state::stopping && now - *stopped_at_ >= stop_timeout;
}

try_result llm_call::conclude(try_result result) const {
  if (stop_outcome_) {
    result.outcome = *stop_outcome_;
    result.error = stop_why_;
    result.is_permanent = true;
  }
  if (result.text.empty()) {
    result.text = text();
  }
  return result;
}

try_result llm_call::conclude_program(const program_ended& end) const {
  try_result out;
  out.text = repair_utf8(text_);
  out.finish_reason = end.how == program_end::exited ? "exit " + std::to_string(end.code) : "";
  const bool is_good = end.how == program_end::exited && end.code == 0;
  if (is_good) {
    const bool is_blank = out.text.find_first_not_of(" \t\r\n") == std::string::npos;
    out.outcome = is_blank ? llm_outcome::empty : llm_outcome::replied;
    out.error = is_blank ? "the program printed nothing" : "";
  } else if (end.how == program_end::output_too_large) {
    out.outcome = llm_outcome::malformed;
    out.error = "the program printed more than " + std::to_string(reply_bytes) + " bytes; killed";
  } else {
    out.outcome = llm_outcome::program_failed;
    const auto what = end.how == program_end::exited      ? "exit status " + std::to_string(end.code)
                      : end.how == program_end::signalled ? "killed by signal " + std::to_string(end.code)
                      : end.how == program_end::lost      ? std::string{"its watchdog was killed"}
                                                          : std::string{};
    out.error = what + (what.empty() || end.errors.empty() ? "" : ": ") + end.errors;
    const bool misses_file = end.errors.find("o such file") != std::string::npos ||
                             end.errors.find("not found") != std::string::npos;
    if (misses_file && provider_->working_dir.empty()) {
      out.error += " (it runs in a fresh folder: name its files by absolute paths)";
    }
  }
  return conclude(std::move(out));
}

void llm_call::retry(bool is_shared, bool is_counted, milliseconds wait, std::string why, time_point now) {
  retry_why_ = std::move(why);
  counted_ += is_counted ? 1 : 0;
  throttled_ += is_counted ? 0ms : wait;
  throttles_ += is_counted ? 0 : 1;
  state_ = is_shared ? call_state::queued : call_state::backing_off;
  retry_at_ = now + wait;
  stopped_at_.reset();
  stop_outcome_.reset();
}

llm_call::time_point llm_call::due() const {
  auto out = last_progress_ ? *last_progress_ + progress_every : accepted_at_;
  if (looked_at_ < text().size()) {
    out = std::min(out, last_delta_ + delta_interval);
  }
  if (state_ == call_state::backing_off) {
    out = std::min(out, retry_at_);
  } else if (state_ == call_state::stopping) {
    out = std::min(out, *stopped_at_ + stop_timeout);
  }
  // The limits of a running try are in seconds, and a sign of life is due within one.
  return out;
}

bool llm_call::arm(time_point at) {
  const bool is_earlier = at < armed_;
  armed_ = std::min(armed_, at);
  return is_earlier;
}

bool llm_call::disarm(time_point at) {
  const bool is_current = at == armed_;
  armed_ = is_current ? time_point::max() : armed_;
  return is_current;
}

std::optional<prompt_delta> llm_call::take_delta(time_point now, bool is_last) {
  const auto all = std::string_view{text()};
  const bool is_news = looked_at_ < all.size() && now - last_delta_ >= delta_interval;
  if (told_ >= all.size() || (!is_last && !is_news)) {
    return std::nullopt;
  }
  looked_at_ = all.size();
  const auto fresh = all.substr(told_);
  const auto& secret = provider_->api_key;
  const auto size = is_last ? fresh.size() : before_secret(fresh.substr(0, whole_characters(fresh)), secret);
  if (size == 0) {
    return std::nullopt;
  }
  told_ += size;
  last_delta_ = now;
  return prompt_delta{key_.race, key_.worker, key_.round, key_.attempt, repair_utf8(without_secret(fresh.substr(0, size), secret))};
}

prompt_phase llm_call::phase(time_point now, const provider_queue& queue) const {
  switch (state_) {
    case call_state::queued:
      return queue.is_throttled(now) ? prompt_phase::throttled : prompt_phase::queued;
    case call_state::backing_off:
      return prompt_phase::throttled;
    case call_state::opening:
      return hold_why_.empty() ? prompt_phase::queued : prompt_phase::throttled;
    default:
      break;
  }
  if (state_ == call_state::closing && !hold_why_.empty()) {
    return prompt_phase::throttled;
  }
  return first_text_at_ ? prompt_phase::streaming : prompt_phase::sent;
}

std::optional<prompt_progress> llm_call::take_progress(moment now, const provider_queue& queue,
                                                       const std::string& note) {
  auto current = phase(now.at, queue);
  if (current == prompt_phase::sent && !note.empty()) {
    current = prompt_phase::queued;
  }
  if (last_progress_ && now.at - *last_progress_ < progress_every && current == last_phase_) {
    return std::nullopt;
  }
  last_progress_ = now.at;
  last_phase_ = current;
  prompt_progress out{key_.race, key_.worker, key_.round, key_.attempt, current, text().size(), 0, note};
  if (current == prompt_phase::throttled) {
    const auto [until, why] = waits_for(queue, now.at);
    out.until_us = until_to_tell(until, now);
    out.note = why;
  }
  return out;
}

/// Each one that differs is an event on disk: what was told stays while it is still to come and only a little off.
std::int64_t llm_call::until_to_tell(time_point until, moment now) {
  constexpr std::int64_t little_us = 10'000'000;
  constexpr std::int64_t beat_us = std::chrono::microseconds{progress_every}.count();
  const auto wait_us = duration_cast<std::chrono::microseconds>(until - now.at).count();
  const auto off_us = std::abs(now.utc_us + wait_us - told_until_us_);
  const bool is_to_come = told_until_us_ > now.utc_us + beat_us && off_us < little_us;
  const bool is_same = told_until_us_ > now.utc_us && off_us < beat_us;
  if (wait_us <= 0 || (!is_to_come && !is_same)) {
    told_until_us_ = wait_us > 0 ? now.utc_us + wait_us : 0;
  }
  return told_until_us_;
}

std::pair<llm_call::time_point, std::string> llm_call::waits_for(const provider_queue& queue, time_point now) const {
  if (state_ == call_state::backing_off) {
    return {retry_at_, retry_why_};
  }
  if (!hold_why_.empty()) {
    // It is asked again each second; nobody knows how often.
    return {now, hold_why_};
  }
  return {queue.closed_until(now), queue.why(now)};
}

prompt_ended llm_call::ended(try_result result, moment now) const {
  // Whatever the server sends may be what we have sent it.
  for (auto* said : {&result.text, &result.finish_reason, &result.response_id}) {
    *said = without_secret(*said, provider_->api_key);
  }
  if (result.outcome == llm_outcome::malformed && result.text.size() > kept_output_head) {
    // Nobody looks for code in it, and its beginning says what it was; the rest would be stored three times.
    result.text.resize(whole_characters(std::string_view{result.text}.substr(0, kept_output_head)));
  }
  prompt_ended out;
  out.race = key_.race;
  out.worker = key_.worker;
  out.round = key_.round;
  out.attempt = key_.attempt;
  out.outcome = result.outcome;
  out.text = std::move(result.text);
  out.finish_reason = std::move(result.finish_reason);
  out.response_id = std::move(result.response_id);
  out.usage = result.usage;
  out.error = presentable(result.error, provider_->api_key);
  out.http_status = result.http_status;
  out.tries = tries_;
  out.first_text = first_text_at_ ? duration_cast<milliseconds>(*first_text_at_ - sent_at_) : 0ms;
  out.elapsed = duration_cast<milliseconds>(now.at - accepted_at_);
  out.cost = charged_.cost;
  out.basis = charged_.basis;
  out.charged_tokens = charged_.tokens;
  out.lost_in_flight = lost_;
  out.warning = warning_;
  return out;
}

}  // namespace regatta
