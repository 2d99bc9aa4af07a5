// SPDX-License-Identifier: Apache-2.0
#include "actors/race_fold.hpp"

#include "actors/code_extractor.hpp"
#include "messages/codec.hpp"
#include "messages/event_codec.hpp"
#include "tests/actors/store/scripted_race.hpp"
#include "tests/actors/store/why.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <variant>

using namespace regatta;
using namespace regatta::test;

namespace {

/// As its record would be read after the process died right behind event `count`.
race_fold fold(const scripted_race& race, std::size_t count) {
  race_fold out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& x = race.events[i];
    if (std::holds_alternative<reply_delta>(x.body)) {
      continue;
    }
    const auto read = event_from_json(event_to_json(x));
    BOOST_REQUIRE_MESSAGE(read, why(read));
    BOOST_TEST(encode_event(*read) == encode_event(x), event_to_json(x));
    out.apply(*read);
  }
  return out;
}
race_fold fold(const scripted_race& race) {
  return fold(race, race.events.size());
}

const worker_standing& worker(const race_standing& all, std::uint32_t number) {
  return all.workers.at(number - 1);
}

/// Behind the first `T`.
template <class T>
std::size_t behind(const scripted_race& race, std::size_t from = 0) {
  for (std::size_t i = from; i < race.events.size(); ++i) {
    if (std::holds_alternative<T>(race.events[i].body)) {
      return i + 1;
    }
  }
  BOOST_FAIL("no such event");
  return 0;
}

scripted_race one_lost_round() {
  scripted_race race{"run_1"};
  race.start().lose(1, 1, "x = 1\n");
  return race;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(race_folds)

BOOST_AUTO_TEST_CASE(before_a_round_has_failed_its_worker_stands_in_it_whatever_was_the_last_event) {
  const auto race = one_lost_round();
  const auto failed = behind<round_failed>(race);
  for (std::size_t count = 1; count < failed; ++count) {
    const auto standing = fold(race, count).standing();
    const auto& first = worker(standing, 1);
    BOOST_TEST(standing.last_seq <= count);
    BOOST_TEST(first.progress.round == 1U, count);
    BOOST_TEST(first.progress.error_context.empty(), count);
    BOOST_TEST(first.progress.last_code.empty(), count);
    BOOST_TEST(first.progress.own_digests.empty(), count);
    BOOST_TEST(!first.has_ended, count);
    BOOST_TEST(standing.candidates.empty(), count);
    const bool is_evaluated = count >= behind<candidate_evaluated>(race);
    BOOST_TEST(first.progress.evaluated.size() == (is_evaluated ? 1U : 0U), count);
    BOOST_TEST(standing.totals.evaluations == (is_evaluated ? 1U : 0U), count);
    BOOST_TEST(standing.replies == (count >= behind<reply_ended>(race) ? 1U : 0U), count);
  }
}

BOOST_AUTO_TEST_CASE(after_a_failed_round_a_worker_goes_on_with_what_it_was_told) {
  const auto race = one_lost_round();
  const auto standing = fold(race).standing();
  const auto& first = worker(standing, 1);
  BOOST_TEST(first.progress.round == 2U);
  BOOST_TEST(first.progress.error_context == "RUN_FAIL: exit status 1");
  BOOST_TEST(first.progress.last_code == "x = 1\n");
  BOOST_REQUIRE(first.progress.own_digests.size() == 1U);
  BOOST_TEST(first.progress.own_digests.front().text == digest_of_source("x = 1\n").text);
  BOOST_TEST(first.progress.evaluated.empty());
  BOOST_TEST(first.starts == 1U);
  BOOST_TEST(worker(standing, 2).progress.round == 1U);
}

BOOST_AUTO_TEST_CASE(field_failures_97_a_settled_candidate_keeps_its_verdict_and_what_its_owner_was_told) {
  const auto standing = fold(one_lost_round()).standing();
  BOOST_REQUIRE(standing.candidates.size() == 1U);
  const auto& x = standing.candidates.front();
  BOOST_TEST(x.worker.text == "worker_01");
  BOOST_TEST(x.round == 1U);
  BOOST_TEST(x.digest.text == digest_of_source("x = 1\n").text);
  BOOST_TEST(to_string(x.verdict.outcome) == "exited_nonzero");
  BOOST_TEST(x.feedback == "RUN_FAIL: exit status 1");
}

BOOST_AUTO_TEST_CASE(field_failures_97_a_candidate_without_a_verdict_that_counts_is_settled_for_nobody) {
  scripted_race race{"run_1"};
  auto lost = scripted_race::result(false);
  lost.outcome = outcome::sandbox_failed;
  race.start().ask(1, 1, "```python\nx = 1\n```\n").find(1, 1, "x = 1\n").evaluate(1, 1, "x = 1\n", lost);
  const auto standing = fold(race).standing();
  BOOST_TEST(standing.candidates.empty());
  BOOST_TEST(worker(standing, 1).progress.evaluated.empty());
  BOOST_TEST(standing.totals.evaluations == 1U);
}

BOOST_AUTO_TEST_CASE(field_failures_98_a_hole_in_the_rounds_is_run_again) {
  scripted_race race{"run_1"};
  race.start().lose(1, 1, "x = 1\n").ask(1, 2, "half").lose(1, 3, "x = 3\n");
  const auto standing = fold(race).standing();
  BOOST_TEST(worker(standing, 1).progress.round == 2U);
  BOOST_TEST(worker(standing, 1).progress.last_code == "x = 1\n");
  BOOST_TEST(worker(standing, 1).progress.own_digests.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_reply_that_could_not_be_used_is_shown_again_as_its_worker_had_shown_it) {
  const std::string reply = "```python\ndef f(:\n```\nand\n```python\nx = 1\n```\n";
  scripted_race race{"run_1"};
  race.start().ask(1, 1, reply);
  race.add(code_extracted{make_worker_id(1), 1, 1, extraction::syntax_error, "line 1: invalid syntax", "", {}});
  race.add(round_failed{make_worker_id(1), 1, "syntax_error", "EXTRACT_FAIL: syntax_error"});
  const auto standing = fold(race).standing();
  BOOST_TEST(worker(standing, 1).progress.last_code == find_code(reply, false).options.front().text);
  BOOST_TEST(!worker(standing, 1).progress.last_code.empty());
}

BOOST_AUTO_TEST_CASE(a_reply_without_code_leaves_nothing_to_show) {
  scripted_race race{"run_1"};
  race.start().lose(1, 1, "x = 1\n").ask(1, 2, "I cannot help.");
  race.add(code_extracted{make_worker_id(1), 2, 1, extraction::no_code, "no block", "", {}});
  race.add(round_failed{make_worker_id(1), 2, "no_code", "EXTRACT_FAIL: no_code"});
  BOOST_TEST(worker(fold(race).standing(), 1).progress.last_code.empty());
}

BOOST_AUTO_TEST_CASE(only_ends_for_good_are_ends) {
  scripted_race race{"run_1", 4};
  race.start();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    race.lose(1, round, "x = " + std::to_string(round) + "\n");
  }
  race.finish(2, worker_end::retired, "same candidate as worker_01");
  race.finish(3, worker_end::llm_failed, "unauthorized").finish(4, worker_end::crashed, "node lost");
  const auto standing = fold(race).standing();
  BOOST_TEST(worker(standing, 1).has_ended);
  BOOST_TEST(to_string(worker(standing, 1).end) == "rounds_spent", "although its worker_finished was lost");
  BOOST_TEST(worker(standing, 1).reason == "exit status 1");
  BOOST_TEST(worker(standing, 2).has_ended);
  BOOST_TEST(to_string(worker(standing, 2).end) == "retired");
  BOOST_TEST(!worker(standing, 3).has_ended);
  BOOST_TEST(!worker(standing, 4).has_ended);
}

BOOST_AUTO_TEST_CASE(a_race_that_was_decided_only_waits_for_its_winner) {
  auto race = won_race("run_1");
  const auto decided = fold(race, behind<winner_decided>(race));
  BOOST_REQUIRE(decided.winner());
  BOOST_TEST(decided.winner()->worker.text == "worker_02");
  BOOST_TEST(!decided.ended());
  const auto standing = decided.standing();
  BOOST_TEST(worker(standing, 1).has_ended);
  BOOST_TEST(!worker(standing, 2).has_ended);
  BOOST_TEST(worker(standing, 2).progress.round == 2U);
  BOOST_REQUIRE(worker(standing, 2).progress.evaluated.size() == 1U);
  BOOST_TEST(to_string(worker(standing, 2).progress.evaluated.front().result.claim) == "run_tests");
  for (const auto& x : standing.candidates) {
    BOOST_TEST(x.digest.text != digest_of_source("y = 2\n").text, "or its own candidate would be a duplicate");
  }
  BOOST_REQUIRE(fold(race).ended());
}

BOOST_AUTO_TEST_CASE(the_model_that_was_asked_last_is_asked_on) {
  scripted_race race{"run_1", 1};
  const model_choice second{"other", "model-b", std::nullopt, std::nullopt, 0, ""};
  const model_choice third{"other", "model-c", std::nullopt, std::nullopt, 0, ""};
  race.spec.workers.front().fallbacks = {second, third};
  race.start().ask(1, 1, "x");
  BOOST_TEST(worker(fold(race).standing(), 1).progress.fallback == 0U);
  race.add(prompt_sent{make_worker_id(1), 1, 2, third, "Solve softmax.", sha256_hex("prompt")});
  BOOST_TEST(worker(fold(race).standing(), 1).progress.fallback == 2U);
}

BOOST_AUTO_TEST_CASE(totals_are_those_of_all_processes_and_know_no_reply_twice) {
  scripted_race race{"run_1", 1};
  race.start().ask(1, 1, "x");
  std::get<reply_ended>(race.events.back().body).cost = 70;
  race.add(race_resumed{"0.1.0", 1, 1, 1, 0, 5, std::chrono::seconds{60}, {1000, 0}});
  race.add(worker_started{make_worker_id(1), node_id{"host-a"}, 2, 1, 0, race.spec.workers.front().choice});
  race.ask(1, 1, "x");
  auto& known = std::get<reply_ended>(race.events.back().body);
  known.is_known = true;
  known.cost = 70;
  race.ask(1, 1, "y");
  auto& paid = std::get<reply_ended>(race.events.back().body);
  paid.attempt = 2;
  paid.cost = 30;
  paid.basis = charge_basis::reserved;
  const auto all = fold(race);
  const auto standing = all.standing();
  BOOST_TEST(standing.totals.cost == 100);
  BOOST_TEST(standing.totals.reserved_cost == 30);
  BOOST_TEST(standing.totals.llm_calls == 2U);
  BOOST_TEST(standing.totals.input_tokens == 200U);
  BOOST_TEST(standing.replies == 2U);
  BOOST_TEST(standing.resumes == 1U);
  BOOST_TEST(worker(standing, 1).starts == 2U);
  BOOST_TEST(all.spec().rounds == 5U);
  BOOST_TEST(all.spec().budget.money == 1000);
  BOOST_TEST(all.spec().deadline.count() == 60);
}

BOOST_AUTO_TEST_CASE(an_evaluation_that_is_told_again_is_counted_once) {
  scripted_race race{"run_1", 1};
  race.start().ask(1, 1, "x").find(1, 1, "x = 1\n");
  race.evaluate(1, 1, "x = 1\n", scripted_race::result(false)).evaluate(1, 1, "x = 1\n", scripted_race::result(false));
  const auto standing = fold(race).standing();
  BOOST_TEST(standing.totals.evaluations == 1U);
  BOOST_TEST(worker(standing, 1).progress.evaluated.size() == 1U);
}

BOOST_AUTO_TEST_CASE(texts_that_are_no_events_are_refused_by_name) {
  BOOST_TEST(failure(event_from_json("{\"kind\": \"race_sta")) == ec::malformed_frame);
  BOOST_TEST(failure(event_from_json("[1, 2]")) == ec::malformed_frame);
  BOOST_TEST(failure(event_from_json("{\"kind\": \"no_such\", \"seq\": 1}")) == ec::malformed_frame);
  BOOST_TEST(failure(event_from_json("")) == ec::malformed_frame);
}

BOOST_AUTO_TEST_SUITE_END()
