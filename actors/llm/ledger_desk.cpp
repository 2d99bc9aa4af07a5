// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/ledger_desk.hpp"

#include "messages/error.hpp"

namespace regatta {

namespace {

/// Closes a row whose try never went out.
close_call unused(const open_call& x, std::uint64_t row) {
  close_call out;
  out.call = row;
  out.ended.race = x.race;
  out.ended.worker = x.worker;
  out.ended.round = x.round;
  out.ended.attempt = x.attempt;
  out.ended.outcome = llm_outcome::cancelled;
  out.ended.error = "withdrawn before it went out";
  return out;
}

}  // namespace

ask_ledger ledger_desk::ask(booking_id id, std::variant<open_call, close_call> what) {
  const auto it = open_.insert_or_assign(id, booking{std::move(what), false, hold::none, {}, {}}).first;
  return {id, it->second.what};
}

void ledger_desk::abandon(booking_id id) {
  if (const auto it = open_.find(id); it != open_.end()) {
    it->second.is_abandoned = true;
  }
}

bool ledger_desk::is_awaited(booking_id id) const {
  const auto it = open_.find(id);
  return it != open_.end() && !it->second.is_abandoned;
}

std::optional<ask_ledger> ledger_desk::on_opened(booking_id id, std::uint64_t row) {
  const auto it = open_.find(id);
  if (it == open_.end()) {
    return std::nullopt;
  }
  const auto* opening = std::get_if<open_call>(&it->second.what);
  if (opening == nullptr || !it->second.is_abandoned || row == 0) {
    open_.erase(it);
    return std::nullopt;
  }
  auto closing = unused(*opening, row);
  auto out = ask(id, std::move(closing));
  abandon(id);
  return out;
}

ledger_refusal ledger_desk::on_error(booking_id id, const caf::error& why, time_point now) {
  const auto it = open_.find(id);
  if (it == open_.end()) {
    return {};
  }
  auto& x = it->second;
  const auto code = code_of(why);
  const bool is_opening = std::holds_alternative<open_call>(x.what);
  const bool is_wait = code == ec::store_full || (code == ec::refused && is_opening);
  if (code == ec::reply_timeout) {
    // The row may be there: the same question finds it.
    x.held = hold::trouble;
    x.again_at = now;
    return {false, false, "the store has not answered in time"};
  }
  if (is_wait) {
    x.failing_since.reset();
  } else if (!x.failing_since) {
    x.failing_since = now;
  }
  const bool is_over = x.failing_since && now - *x.failing_since >= patience;
  // A withdrawn call's opening that was refused has left nothing behind.
  const bool is_moot = is_opening && x.is_abandoned && code != ec::store_full;
  // The row is not ours any more: a later process has settled it.
  const bool is_lost = code == ec::not_found || code == ec::not_holder;
  if (code == ec::budget_spent || is_over || is_moot || is_lost) {
    open_.erase(it);
    return {true, code == ec::budget_spent, text_of(why)};
  }
  x.held = code == ec::refused ? hold::budget : hold::trouble;
  x.again_at = now + retry_interval;
  return {false, false, code == ec::store_full ? "the store is full: " + text_of(why) : text_of(why)};
}

std::vector<ask_ledger> ledger_desk::due(time_point now, bool has_room) {
  std::vector<ask_ledger> out;
  for (auto& [id, x] : open_) {
    if (x.held != hold::none && (now >= x.again_at || (has_room && x.held == hold::budget))) {
      x.held = hold::none;
      out.push_back({id, x.what});
    }
  }
  return out;
}

}  // namespace regatta
