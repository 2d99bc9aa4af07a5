// SPDX-License-Identifier: Apache-2.0
/// \file
/// A ledger on a connection of its own, as if it were another process'.
#pragma once

#include "actors/store_ledger.hpp"
#include "actors/store_schema.hpp"
#include "actors/store_writer.hpp"
#include "tests/actors/store/scripted_race.hpp"
#include "tests/actors/store/why.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace regatta::test {

/// 2026-11-30 23:00 UTC.
inline constexpr std::int64_t evening_us = 1'796'079'600'000'000;

inline store_owner dead_process(std::int64_t number) {
  auto out = this_process();
  // Of our own pid, but started at another time: certain to be gone.
  out.start_ticks += static_cast<std::uint64_t>(number);
  return out;
}

class ledger_process {
public:
  explicit ledger_process(const std::string& state, store_owner who = this_process()) {
    auto opened = open_store(state);
    BOOST_REQUIRE_MESSAGE(opened, why(opened));
    writer_ = std::make_unique<store_writer>(std::move(opened->db), state, std::move(who));
  }

  void tell(const scripted_race& race) {
    std::map<race_id, caf::error> refused;
    const auto error = writer_->write(race.events, evening_us, refused);
    BOOST_REQUIRE_MESSAGE(!error, describe(error));
    for (const auto& [id, why_not] : refused) {
      refusals.push_back(describe(why_not));
    }
  }
  caf::expected<call_opened> ask(const open_call& x) { return one<call_opened>(x); }
  caf::expected<call_closed> ask(const close_call& x) { return one<call_closed>(x); }
  store_writer& writer() { return *writer_; }

  std::int64_t now_us = evening_us;
  std::vector<std::string> refusals;

private:
  template <class Answer>
  caf::expected<Answer> one(ledger_question x) {
    std::map<race_id, caf::error> refused;
    std::vector<ledger_answer> answers;
    const std::vector<ledger_question> questions = {std::move(x)};
    if (auto error = writer_->write({}, questions, now_us, refused, answers)) {
      return error;
    }
    if (auto* bad = std::get_if<caf::error>(&answers.front())) {
      return std::move(*bad);
    }
    return std::get<Answer>(std::move(answers.front()));
  }

  std::unique_ptr<store_writer> writer_;
};

/// Asks for `money` for worker `number`'s first prompt.
inline open_call call_of(const std::string& race, std::uint32_t number, nano_units money, std::uint32_t try_number = 1) {
  open_call out;
  out.race = race_id{race};
  out.worker = make_worker_id(number);
  out.round = 1;
  out.attempt = 1;
  out.try_number = try_number;
  out.choice = {"openai", "gpt-x", 0.5, std::nullopt, 1000, ""};
  out.wire = "responses";
  out.prompt_digest = "prompt-digest";
  out.reserved = money;
  out.reserved_tokens = static_cast<std::uint64_t>(money);
  out.price_digest = "price-digest";
  return out;
}

inline close_call end_of(std::uint64_t call, llm_outcome outcome, nano_units cost, bool is_answer = true) {
  close_call out;
  out.call = call;
  out.is_answer = is_answer;
  out.ended.outcome = outcome;
  out.ended.text = outcome == llm_outcome::replied ? "the reply" : "";
  out.ended.cost = cost;
  out.ended.charged_tokens = static_cast<std::uint64_t>(cost);
  out.ended.basis = outcome == llm_outcome::replied ? charge_basis::usage : charge_basis::reserved;
  return out;
}

}  // namespace regatta::test
