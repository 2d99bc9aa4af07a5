// SPDX-License-Identifier: Apache-2.0
// The gateway's actor with a scripted ledger and transport, on a clock that moves when told to.
#include "actors/llm/llm_gateway.hpp"
#include "actors/wake_timer.hpp"
#include "messages/limits.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

/// What was asked of the ledger, and how it answers: `silent`: not at all.
struct script {
  std::vector<open_call> openings;
  std::vector<close_call> closings;
  std::vector<ec> answers;  ///< To the next questions; then all is well.
  bool is_silent = false;
  std::vector<prompt_ended> ended;
  std::vector<prompt_progress> progress;
  std::vector<exchange_id> started;
  exchange_sink wire;
  std::vector<caf::typed_response_promise<call_opened>> unanswered;
  std::vector<caf::typed_response_promise<call_closed>> unclosed;
  std::vector<exchange_id> cancelled;

  caf::error next() {
    if (answers.empty()) {
      return {};
    }
    const auto code = answers.front();
    answers.erase(answers.begin());
    return fail(code, "as scripted");
  }
};

/// `wake_up`: answers what it was silent about.
using scripted_ledger_actor = ledger_actor::extend<caf::reacts_to<wake_up>>;

scripted_ledger_actor::behavior_type scripted_ledger(scripted_ledger_actor::pointer self, script* of) {
  return {
      [=](const open_call& x) -> caf::result<call_opened> {
        of->openings.push_back(x);
        if (of->is_silent) {
          of->unanswered.push_back(self->make_response_promise<call_opened>());
          return of->unanswered.back();
        }
        if (auto failed = of->next()) {
          return failed;
        }
        call_opened out;
        out.call = of->openings.size();
        return out;
      },
      [=](const close_call& x) -> caf::result<call_closed> {
        of->closings.push_back(x);
        if (of->is_silent) {
          of->unclosed.push_back(self->make_response_promise<call_closed>());
          return of->unclosed.back();
        }
        if (auto failed = of->next()) {
          return failed;
        }
        return call_closed{x.call};
      },
      [=](const wake_up&) {
        for (auto& promise : std::exchange(of->unanswered, {})) {
          promise.deliver(call_opened{of->openings.size(), {}, 0, 0});
        }
        for (auto& promise : std::exchange(of->unclosed, {})) {
          promise.deliver(call_closed{});
        }
      },
  };
}

prompt_sink_actor::behavior_type listener(prompt_sink_actor::pointer, script* to) {
  return {
      [=](const prompt_progress& x) { to->progress.push_back(x); },
      [](const prompt_delta&) {},
      [=](const prompt_ended& x) { to->ended.push_back(x); },
  };
}

class scripted_transport : public transport {
public:
  explicit scripted_transport(script* of) : of_{of} {}
  void start(exchange_id id, http_request) override { of_->started.push_back(id); }
  void cancel(exchange_id id) override { of_->cancelled.push_back(id); }

private:
  script* of_;
};

struct booked_house {
  booked_house() {
    provider_config provider;
    provider.name = "p";
    provider.kind = provider_kind::chat;
    provider.base_url = "http://host";
    llm_gateway_config config;
    config.providers = {provider};
    config.sink = house.spawn(listener, &played);
    ledger = house.spawn(scripted_ledger, &played);
    config.ledger = ledger;
    config.utc_us = [] { return std::int64_t{1'000'000'000'000}; };
    config.make_transport = [this](exchange_sink sink) {
      played.wire = std::move(sink);
      return std::make_unique<scripted_transport>(&played);
    };
    gateway = house.spawn(llm_gateway, std::move(config));
  }
  booked_house(const booked_house&) = delete;
  booked_house& operator=(const booked_house&) = delete;
  /// Calls that nobody ends are waited for as long as the gateway does.
  ~booked_house() {
    leave();
    advance(5'100ms);
  }
  void ask(std::uint32_t worker = 1) {
    prompt x;
    x.race = race_id{"r"};
    x.worker = make_worker_id(worker);
    x.round = 1;
    x.attempt = 1;
    x.choice = {"p", "m", {}, {}, 0, ""};
    x.user = "user";
    BOOST_REQUIRE(house.ask<accepted>(gateway, x));
  }
  void answer() {
    const auto id = played.started.back();
    played.wire(exchange_head{id, 200, {}});
    played.wire(exchange_body{
        id, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n", nullptr});
    played.wire(exchange_ended{id, exchange_end::complete, ""});
    house.sched.run();
  }
  void leave() {
    caf::anon_send_exit(gateway, caf::exit_reason::user_shutdown);
    house.sched.run();
  }
  bool is_gone() const {
    return caf::actor_cast<caf::abstract_actor*>(gateway)->getf(caf::abstract_actor::is_terminated_flag);
  }
  void advance(std::chrono::milliseconds by) {
    for (; by > 0ms; by -= 20ms) {
      house.advance(20ms);
    }
  }

  script played;
  test::deterministic_system house;
  scripted_ledger_actor ledger;
  llm_gateway_core_actor gateway;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(gateway_and_ledger_actors)

BOOST_FIXTURE_TEST_CASE(a_prompt_passes_the_ledger_twice, booked_house) {
  ask();
  BOOST_TEST(played.openings.size() == 1U);
  BOOST_REQUIRE(played.started.size() == 1U);
  answer();
  BOOST_REQUIRE(played.closings.size() == 1U);
  BOOST_TEST(played.closings[0].call == 1U);
  BOOST_REQUIRE(played.ended.size() == 1U);
  BOOST_TEST(played.ended[0].text == "hi");
}

BOOST_FIXTURE_TEST_CASE(a_full_store_is_asked_again_every_second_for_opening_and_closing, booked_house) {
  played.answers = {ec::store_full, ec::store_full};
  ask();
  BOOST_TEST(played.started.empty());
  BOOST_TEST((played.progress.back().phase == prompt_phase::throttled));
  advance(2100ms);
  BOOST_TEST(played.openings.size() == 3U);
  BOOST_REQUIRE(played.started.size() == 1U);
  played.answers = {ec::store_full};
  answer();
  BOOST_TEST(played.ended.empty());
  advance(1100ms);
  BOOST_TEST(played.closings.size() == 2U);
  BOOST_TEST(played.ended.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_ledger_that_does_not_answer_is_asked_the_same_again, booked_house) {
  played.is_silent = true;
  ask();
  played.is_silent = false;
  advance(std::chrono::milliseconds{ledger_timeout} - 40ms);
  BOOST_TEST(played.openings.size() == 1U);
  advance(100ms);
  BOOST_REQUIRE(played.openings.size() == 2U);
  BOOST_TEST(played.openings[1].try_number == 1U);
  BOOST_TEST(played.started.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_spent_budget_is_the_end_of_the_prompt, booked_house) {
  played.answers = {ec::budget_spent};
  ask();
  BOOST_TEST(played.started.empty());
  BOOST_REQUIRE(played.ended.size() == 1U);
  BOOST_TEST(played.ended[0].outcome == llm_outcome::budget_exhausted);
  BOOST_TEST(played.ended[0].error == "as scripted");
}

BOOST_FIXTURE_TEST_CASE(a_gateway_that_leaves_ends_what_is_open_and_settles_it_first, booked_house) {
  ask(1);
  played.is_silent = true;
  ask(2);
  leave();
  BOOST_TEST(!is_gone());
  BOOST_TEST(played.cancelled == played.started, boost::test_tools::per_element());
  BOOST_REQUIRE(played.started.size() == 1U);
  played.wire(exchange_ended{played.started[0], exchange_end::cancelled, ""});
  house.sched.run();
  BOOST_TEST(played.ended.size() == 2U, "each worker hears of its call");
  for (const auto& x : played.ended) {
    BOOST_TEST(x.outcome == llm_outcome::cancelled);
  }
  BOOST_REQUIRE(played.closings.size() == 1U);
  BOOST_TEST(played.closings[0].call == 1U);
  BOOST_TEST(played.closings[0].ended.basis == charge_basis::reserved, "it went out, and nobody knows how far it got");
  // The row of the second comes late; it is closed, too, since nothing was sent.
  BOOST_REQUIRE(played.unanswered.size() == 1U);
  house.tell(ledger, wake_up{});
  BOOST_REQUIRE(played.closings.size() == 2U);
  BOOST_TEST(played.closings[1].call == 2U);
  BOOST_TEST(played.closings[1].ended.cost == 0);
  BOOST_TEST(!is_gone());
  house.tell(ledger, wake_up{});
  BOOST_TEST(is_gone());
  BOOST_TEST(played.started.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_gateway_that_leaves_waits_five_seconds_at_most_and_takes_no_prompt, booked_house) {
  ask(1);
  played.is_silent = true;
  leave();
  prompt late;
  late.race = race_id{"r2"};
  late.worker = make_worker_id(1);
  late.choice = {"p", "m", {}, {}, 0, ""};
  const auto refused = house.ask<accepted>(gateway, late);
  BOOST_TEST(!refused);
  BOOST_TEST(code_of(refused.error()) == ec::refused);
  advance(4'900ms);
  BOOST_TEST(!is_gone());
  advance(200ms);
  BOOST_TEST(is_gone());
}

BOOST_AUTO_TEST_SUITE_END()
