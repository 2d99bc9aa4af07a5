// SPDX-License-Identifier: Apache-2.0
#include "actors/worker_rules.hpp"

#include "actors/worker_feedback.hpp"
#include "messages/limits.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

struct one_worker {
  static spawn_worker job() {
    spawn_worker out;
    out.race = race_id{"run_1"};
    out.spec = {worker_id{"worker_01"}, 1, 0, {"p", "m", {}, {}, 0, ""}, {}};
    out.stage.variants = {"v"};
    out.problem.text = "class Model: pass\n";
    out.rounds = 3;
    return out;
  }
  /// The last request of this kind; its step must answer it.
  template <class T>
  std::optional<std::pair<std::uint64_t, T>> request() {
    std::optional<std::pair<std::uint64_t, T>> found;
    for (auto& x : rules.take_effects()) {
      seen.push_back(x);
      const auto* asked = std::get_if<worker_request>(&x);
      if (asked != nullptr && std::holds_alternative<T>(asked->body)) {
        found.emplace(asked->step, std::get<T>(asked->body));
      }
    }
    return found;
  }
  template <class T>
  std::size_t count() {
    request<prompt>();
    return static_cast<std::size_t>(
        std::ranges::count_if(seen, [](const worker_effect& x) { return std::holds_alternative<T>(x); }));
  }
  prompt_ended reply(llm_outcome how, std::string text = "", std::uint32_t attempt = 1, std::uint32_t round = 1) const {
    return {
        race_id{"run_1"}, worker_id{"worker_01"}, round, attempt, how, std::move(text), "", "", {}, "", 0, 1, {}, {}};
  }
  /// From a reply to the evaluation of its candidate.
  std::uint64_t reach_run() {
    rules.on_prompt_ended(reply(llm_outcome::replied, "```python\nx = 1\n```\n"), t0);
    rules.on_source_report(request<check_source>().value().first, {{{true, "", {}, false}}}, t0);
    reservation granted;
    granted.state = reservation_state::granted;
    rules.on_reservation(request<reserve>().value().first, granted, t0);
    return request<run>().value().first;
  }
  run_ended result(outcome how, std::uint32_t attempt = 1) const {
    run_ended out{race_id{"run_1"}, worker_id{"worker_01"}, 1, attempt, {}};
    out.result.outcome = how;
    out.result.reason = "because";
    return out;
  }

  worker_rules::time_point t0{};
  worker_rules rules{order_of(job())};
  std::vector<worker_effect> seen;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(worker, one_worker)

BOOST_AUTO_TEST_CASE(a_thousand_workers_share_what_all_are_told) {
  // What is left is a worker's own: whom it asks and where it is. docs/benchmarks.md has the whole worker's figure.
  BOOST_TEST(sizeof(worker_rules) <= 512U);
  const auto brief = brief_of(job());
  const worker_rules first{order_of(job(), brief)};
  const worker_rules second{order_of(job(), brief)};
  BOOST_TEST(brief.use_count() == 3);
}

BOOST_AUTO_TEST_CASE(an_llm_failure_uses_an_attempt_and_not_a_round) {
  rules.begin(t0);
  for (std::uint32_t attempt = 1; attempt < attempts_per_round; ++attempt) {
    rules.on_prompt_ended(reply(llm_outcome::overloaded, "", attempt), t0);
    const auto next = request<prompt>().value().second;
    BOOST_TEST(next.round == 1U);
    BOOST_TEST(next.attempt == attempt + 1);
  }
  rules.on_prompt_ended(reply(llm_outcome::overloaded, "", attempts_per_round), t0);
  BOOST_TEST(rules.is_ended());
  request<prompt>();
  BOOST_TEST(std::get<worker_ended>(seen.back()).end == worker_end::llm_failed);
}

BOOST_AUTO_TEST_CASE(a_model_that_is_gone_for_good_is_left_for_the_next_in_the_same_round) {
  auto order = job();
  order.spec.fallbacks = {{"p", "second", {}, {}, 0, ""}, {"q", "third", {}, {}, 0, ""}};
  rules = worker_rules{order_of(order)};
  rules.begin(t0);
  auto gone = reply(llm_outcome::unauthorized);
  gone.error = "401: bad key";
  rules.on_prompt_ended(gone, t0);
  auto next = request<prompt>().value().second;
  BOOST_TEST(next.choice.model == "second");
  BOOST_TEST(next.round == 1U);
  BOOST_TEST(next.attempt == 2U);
  const auto told = std::ranges::find_if(seen, [](const worker_effect& x) {
    const auto* said = std::get_if<report>(&x);
    const auto* moved = said == nullptr ? nullptr : std::get_if<worker_moved>(&said->body);
    return moved != nullptr && moved->note == "goes on with second (p) after unauthorized: 401: bad key";
  });
  BOOST_TEST((told != seen.end()));
  for (std::uint32_t attempt = 2; attempt < 2 + attempts_per_round; ++attempt) {
    BOOST_TEST(next.choice.model == "second", "it has its own attempts");
    rules.on_prompt_ended(reply(llm_outcome::overloaded, "", attempt), t0);
    next = request<prompt>().value().second;
  }
  BOOST_TEST(next.choice.provider == "q");
  BOOST_TEST(next.attempt == 2 + attempts_per_round);
  rules.on_prompt_ended(reply(llm_outcome::quota_exhausted, "", next.attempt), t0);
  request<prompt>();
  BOOST_TEST(std::get<worker_ended>(seen.back()).end == worker_end::llm_failed);
}

BOOST_AUTO_TEST_CASE(a_fallback_stays_for_later_rounds_and_starts) {
  auto order = job();
  order.spec.fallbacks = {{"p", "second", {}, {}, 0, ""}};
  order.progress.fallback = 1;
  rules = worker_rules{order_of(order)};
  rules.begin(t0);
  BOOST_TEST(request<prompt>().value().second.choice.model == "second");
  rules.on_prompt_ended(reply(llm_outcome::replied, "no code"), t0);
  const auto next = request<prompt>().value().second;
  BOOST_TEST(next.choice.model == "second");
  BOOST_TEST(next.round == 2U);
}

BOOST_AUTO_TEST_CASE(a_spent_budget_is_the_end_whatever_models_are_left) {
  auto order = job();
  order.spec.fallbacks = {{"p", "second", {}, {}, 0, ""}};
  rules = worker_rules{order_of(order)};
  rules.begin(t0);
  rules.on_prompt_ended(reply(llm_outcome::budget_exhausted), t0);
  request<prompt>();
  BOOST_TEST(std::get<worker_ended>(seen.back()).end == worker_end::llm_failed);
}

BOOST_AUTO_TEST_CASE(an_end_of_waiting_is_told_in_whole_seconds_once) {
  rules.begin(t0);
  const auto throttled = [&](std::int64_t until_us) {
    rules.on_prompt_progress(
        {race_id{"run_1"}, worker_id{"worker_01"}, 1, 1, prompt_phase::throttled, 0, until_us, "429"}, t0);
    return count<report>();
  };
  const auto first = throttled(38'467'000'000);
  const auto* said = std::get_if<report>(&seen.back());
  BOOST_REQUIRE(said != nullptr);
  BOOST_TEST(std::get<worker_moved>(said->body).note == "throttled until 10:41:07 UTC: 429");
  BOOST_TEST(throttled(38'466'000'001) == first, "never a second that is over before the wait is");
  BOOST_TEST(throttled(38'467'000'001) == first + 1);
}

BOOST_AUTO_TEST_CASE(a_reply_of_another_key_is_ignored) {
  rules.begin(t0);
  request<prompt>();
  rules.on_prompt_ended(reply(llm_outcome::replied, "```python\nx = 1\n```\n", 2), t0);
  rules.on_prompt_ended(reply(llm_outcome::replied, "```python\nx = 1\n```\n", 1, 2), t0);
  BOOST_TEST(rules.take_effects().empty());
}

BOOST_AUTO_TEST_CASE(silence_is_measured_from_the_last_sign_of_life_to_the_nanosecond) {
  rules.begin(t0);
  request<prompt>();
  rules.on_prompt_progress({race_id{"run_1"}, worker_id{"worker_01"}, 1, 1, prompt_phase::throttled, 0, 0, "429"},
                           t0 + 14s);
  rules.on_wake(t0 + 14s + silence_limit - 1ns);
  BOOST_TEST(!request<prompt>().has_value());
  rules.on_wake(t0 + 14s + silence_limit);
  BOOST_TEST(request<prompt>().value().second.attempt == 1U, "first the same question again");
  rules.on_wake(t0 + 14s + 2 * silence_limit);
  BOOST_TEST(request<prompt>().value().second.attempt == 2U, "then it counts as failed");
}

BOOST_AUTO_TEST_CASE(an_answer_to_a_step_that_is_over_changes_nothing) {
  rules.begin(t0);
  const auto step = request<prompt>().value().first;
  reach_run();
  rules.on_refused(step, fail(ec::refused, "late"), t0);
  BOOST_TEST(!rules.is_ended());
  BOOST_TEST(rules.take_effects().empty());
}

BOOST_AUTO_TEST_CASE(a_race_that_is_over_ends_the_worker_quietly) {
  rules.begin(t0);
  rules.on_refused(request<prompt>().value().first, fail(ec::refused, "decided"), t0);
  request<prompt>();
  BOOST_TEST(std::get<worker_ended>(seen.back()).end == worker_end::cancelled);
}

BOOST_AUTO_TEST_CASE(an_unknown_provider_is_final) {
  rules.begin(t0);
  rules.on_refused(request<prompt>().value().first, fail(ec::unknown_provider, "nope"), t0);
  request<prompt>();
  BOOST_TEST(std::get<worker_ended>(seen.back()).end == worker_end::llm_failed);
  BOOST_TEST(std::get<worker_ended>(seen.back()).reason == "unknown_provider: nope");
}

BOOST_AUTO_TEST_CASE(a_sandbox_failure_releases_and_a_verdict_settles) {
  rules.begin(t0);
  reach_run();
  rules.on_run_ended(result(outcome::sandbox_failed), t0);
  BOOST_TEST(count<release>() == 1U);
  BOOST_TEST(count<settle>() == 0U);
  reservation granted;
  granted.state = reservation_state::granted;
  rules.on_reservation(std::get<worker_request>(seen.back()).step, granted, t0);
  BOOST_TEST(request<run>().value().second.attempt == 2U);
  rules.on_run_ended(result(outcome::timed_out, 1), t0);
  BOOST_TEST(count<settle>() == 0U, "the first attempt is not current");
  rules.on_run_ended(result(outcome::timed_out, 2), t0);
  BOOST_TEST(count<settle>() == 1U);
}

BOOST_AUTO_TEST_CASE(a_checker_that_cannot_be_had_is_our_failure_and_ends_by_name) {
  rules.begin(t0);
  rules.on_prompt_ended(reply(llm_outcome::replied, "```python\nx = 1\n```\n"), t0);
  for (std::uint32_t i = 0; i < sandbox_attempts; ++i) {
    const auto asked = request<check_source>();
    BOOST_REQUIRE(asked.has_value());
    rules.on_refused(asked->first, fail(ec::sandbox_refused, "no namespaces"), t0);
  }
  request<prompt>();
  const auto& told = std::get<worker_ended>(seen.back());
  BOOST_TEST(told.end == worker_end::sandbox_failed);
  BOOST_TEST(told.reason == "source checker: sandbox_refused: no namespaces");
}

BOOST_AUTO_TEST_CASE(a_later_start_goes_on_where_the_former_was) {
  auto later = job();
  later.progress = {3, "RUN_FAIL: x", "old = 1\n", {}, 0, {}};
  worker_rules again{order_of(later)};
  again.begin(t0);
  const auto effects = again.take_effects();
  const auto& asked = std::get<prompt>(std::get<worker_request>(effects.back()).body);
  BOOST_TEST(asked.round == 3U);
  BOOST_TEST(asked.user.find("RUN_FAIL: x") != std::string::npos);
  BOOST_TEST(asked.user.find("old = 1") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(worker_feedback)

BOOST_AUTO_TEST_CASE(a_failure_line_ends_with_the_programs_own_last_word) {
  evaluation result;
  result.outcome = outcome::exited_nonzero;
  result.reason = "exit status 1";
  BOOST_TEST(failure_line(result) == "exit status 1");
  result.stdout_text = "MISMATCH by 0.5\n";
  BOOST_TEST(failure_line(result) == "exit status 1: MISMATCH by 0.5");
  result.stderr_text = "Traceback\n  File \"x\"\nAssertionError: max difference 0.5\n\n";
  BOOST_TEST(failure_line(result) == "exit status 1: AssertionError: max difference 0.5");
  result.stderr_text = std::string(159, 'x') + "\xE2\x9C\x93";
  BOOST_TEST(failure_line(result) == "exit status 1: " + std::string(159, 'x'));
  result.outcome = outcome::timed_out;
  BOOST_TEST(failure_line(result) == "exit status 1", "what a killed program wrote last says nothing about its end");
}

BOOST_AUTO_TEST_CASE(a_tail_never_begins_inside_a_character) {
  BOOST_TEST(tail_of("abc", 5) == "abc");
  BOOST_TEST(tail_of("abc", 2) == "bc");
  BOOST_TEST(tail_of("a\xE2\x82\xAC"
                     "b",
                     4) ==
             "\xE2\x82\xAC"
             "b");
  BOOST_TEST(tail_of("a\xE2\x82\xAC"
                     "b",
                     3) == "b");
}

BOOST_AUTO_TEST_CASE(a_failed_run_is_told_in_kernelagents_form_with_bounded_tails) {
  evaluation result;
  result.outcome = outcome::exited_nonzero;
  result.reason = "exit status 1";
  result.stdout_text = std::string(30'000, 'o') + "END";
  result.stderr_text = "Traceback";
  const auto text = run_feedback(result);
  BOOST_TEST(text.starts_with("RUN_FAIL: exit status 1\nSTDOUT_TAIL:\no"));
  BOOST_TEST(text.ends_with("oEND\nSTDERR_TAIL:\nTraceback"));
  BOOST_TEST(text.size() < 20'100U);
}

BOOST_AUTO_TEST_CASE(every_extraction_outcome_is_named_with_advice) {
  for (const auto& [value, name] : enum_names<extraction>::value) {
    if (value != extraction::found) {
      const auto text = extraction_feedback(value, "note");
      BOOST_TEST(text.starts_with("EXTRACT_FAIL: " + std::string{name} + ": note\n"));
      BOOST_TEST(text.size() > name.size() + 40U);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
