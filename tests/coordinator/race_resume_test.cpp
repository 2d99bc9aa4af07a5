// SPDX-License-Identifier: Apache-2.0
// A race that is cut after any of its events and taken up again ends as it would have ended, and runs nothing twice.
#include "actors/race_fold.hpp"
#include "coordinator/event_gate.hpp"
#include "tests/support/printing.hpp"
#include "tests/support/race_house.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <tuple>

using namespace regatta;
using namespace regatta::test;
using namespace std::chrono_literals;

namespace {

const worker_id w1 = make_worker_id(1);
const worker_id w2 = make_worker_id(2);

/// A reply drawn from seed and key alone. Few different texts, so that workers have the same ones.
llm_answer drawn_reply(std::uint32_t seed, const prompt& x) {
  std::seed_seq mix{seed, x.round, x.attempt, static_cast<std::uint32_t>(std::hash<worker_id>{}(x.worker))};
  std::mt19937 draw{mix};
  const bool can_win = seed % 3 != 0 && x.round > 2;
  switch (draw() % 8) {
    case 0:
      return fails_with(llm_outcome::empty);
    case 1:
      return says("no code here");
    case 2:
      return says_code("syntax_error");
    case 3:
      return says_code("x = 'flaky'  # " + std::to_string(draw() % 2));
    default:
      return says_code(std::string{can_win && draw() % 3 == 0 ? "x = 'pass'" : "x = 'fail'"} + "  # " +
                       std::to_string(draw() % 4));
  }
}

race_fold fold_of(const std::vector<event>& events, std::size_t count) {
  race_fold out;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::holds_alternative<reply_delta>(events[i].body)) {
      out.apply(events[i]);
    }
  }
  return out;
}

using run_key = std::pair<worker_id, source_digest>;
using prompt_key = std::tuple<worker_id, std::uint32_t, std::uint32_t>;

/// What counts of a record: evaluations that are told, prompts that were asked.
struct told_facts {
  std::multiset<run_key> evaluations;
  std::map<prompt_key, std::string> prompts;
};
told_facts told_in(const std::vector<event>& events) {
  told_facts out;
  for (const auto& x : events) {
    if (const auto* run = std::get_if<candidate_evaluated>(&x.body); run && counts_for_candidate(run->result)) {
      out.evaluations.emplace(run->worker, run->digest);
    } else if (const auto* asked = std::get_if<prompt_sent>(&x.body)) {
      out.prompts.emplace(prompt_key{asked->worker, asked->round, asked->attempt}, asked->user);
    }
  }
  return out;
}

struct whole_race {
  std::vector<event> events;
  race_ended ended;
};

whole_race run_race(std::uint32_t seed, const std::optional<std::vector<event>>& former) {
  race_house house{path::direct};
  house.llm->answer = [=](const prompt& x) { return drawn_reply(seed, x); };
  auto spec = house.spec(1 + seed % 5, 5);
  whole_race out;
  std::optional<race_standing> standing;
  if (former) {
    const auto fold = fold_of(*former, former->size());
    BOOST_REQUIRE(fold.has_started());
    spec = fold.spec();
    standing = fold.standing();
    // Pieces of replies are numbered, too, and are in no record; the table of races knows how far it had come.
    standing->last_seq = former->size();
    out.events = *former;
  }
  BOOST_REQUIRE(house.ask<accepted>(house.coordinator, start_race{spec, standing}));
  house.pass(20s);
  BOOST_REQUIRE_EQUAL(house.log->closed.size(), 1U);
  if (former) {
    const auto before = told_in(*former);
    for (const auto& run : house.runs->asked) {
      BOOST_TEST(!before.evaluations.contains({run.worker, run.digest}), "run again: " << run.code);
    }
    for (const auto& asked : house.llm->asked) {
      const auto it = before.prompts.find({asked.worker, asked.round, asked.attempt});
      BOOST_TEST((it == before.prompts.end() || it->second == asked.user),
                 to_string(asked.worker) << " round " << asked.round << ": " << asked.user);
    }
  }
  out.events.insert(out.events.end(), house.log->events.begin(), house.log->events.end());
  out.ended = house.facts<race_ended>().at(0);
  return out;
}

/// Every evaluation that counts stands in the record once; `seq` goes on without a gap.
void check_record(const whole_race& race) {
  const auto told = told_in(race.events);
  std::set<run_key> once{told.evaluations.begin(), told.evaluations.end()};
  BOOST_TEST(once.size() == told.evaluations.size());
  for (std::size_t i = 0; i < race.events.size(); ++i) {
    BOOST_REQUIRE_EQUAL(race.events[i].seq, i + 1);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(race_resume)

BOOST_AUTO_TEST_CASE(a_race_cut_behind_any_event_ends_as_it_would_have_ended) {
  std::set<std::string> ends;
  std::size_t cuts = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const auto uncut = run_race(seed, std::nullopt);
    check_record(uncut);
    ends.insert(to_string(uncut.ended.end));
    for (std::size_t count = 1; count <= uncut.events.size(); ++count) {
      BOOST_TEST_CONTEXT("seed " << seed << ", cut behind event " << count << ", "
                                 << kind_of(uncut.events[count - 1].body)) {
        const auto resumed = run_race(
            seed, std::vector(uncut.events.begin(), uncut.events.begin() + static_cast<std::ptrdiff_t>(count)));
        check_record(resumed);
        BOOST_TEST(to_string(resumed.ended.end) == to_string(uncut.ended.end));
        BOOST_TEST(resumed.ended.resumes == 1U);
        ++cuts;
      }
    }
  }
  BOOST_TEST(cuts > 300U);
  BOOST_TEST(ends.size() == 2U, "won and no_passing_solution, or the test sees one story only");
}

BOOST_AUTO_TEST_CASE(a_race_may_be_cut_again_and_again) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937 draw{seed};
      auto race = run_race(seed, std::nullopt);
      const auto end = race.ended.end;
      std::size_t kept = 1;
      for (std::uint32_t resumes = 1; resumes <= 4; ++resumes) {
        kept = std::uniform_int_distribution<std::size_t>{kept, race.events.size()}(draw);
        race.events.resize(kept);
        race = run_race(seed, race.events);
        check_record(race);
        BOOST_TEST(to_string(race.ended.end) == to_string(end));
        BOOST_TEST(race.ended.resumes == resumes);
        kept = std::min(kept + 1, race.events.size());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_accepted_evaluation_without_a_decision_wins_at_once_without_asking_anybody) {
  race_house first{path::direct};
  first.llm->answer = [](const prompt& x) { return x.worker == w1 ? says_code("x = 'pass'") : holds(); };
  const auto spec = first.spec(2);
  BOOST_REQUIRE(first.start(spec));
  const auto& events = first.log->events;
  const auto evaluated =
      std::ranges::find_if(events, [](const event& x) { return std::holds_alternative<candidate_evaluated>(x.body); });
  BOOST_REQUIRE(evaluated != events.end());
  const auto fold = fold_of(events, static_cast<std::size_t>(evaluated - events.begin()) + 1);
  BOOST_TEST(!fold.winner());

  race_house second{path::direct};
  BOOST_REQUIRE(second.ask<accepted>(second.coordinator, start_race{fold.spec(), fold.standing()}));
  const auto end = second.facts<race_ended>().at(0);
  BOOST_TEST(end.end == race_end::won);
  BOOST_TEST(end.winner == w1);
  BOOST_TEST(end.unconfirmed_nodes.empty());
  BOOST_TEST(second.facts<winner_decided>().at(0).code.find("x = 'pass'") != std::string::npos);
  BOOST_TEST(second.llm->asked.empty());
  BOOST_TEST(second.runs->asked.empty());
}

BOOST_AUTO_TEST_CASE(a_candidate_that_is_judged_but_whose_round_is_open_is_a_duplicate_for_others) {
  race_house first{path::direct};
  first.llm->answer = [](const prompt& x) { return x.worker == w1 ? says_code("x = 'fail'") : holds(); };
  BOOST_REQUIRE(first.start(first.spec(2)));
  const auto& events = first.log->events;
  const auto evaluated =
      std::ranges::find_if(events, [](const event& x) { return std::holds_alternative<candidate_evaluated>(x.body); });
  const auto fold = fold_of(events, static_cast<std::size_t>(evaluated - events.begin()) + 1);

  race_house second{path::direct};
  second.llm->answer = [](const prompt& x) {
    return x.round > 1 ? says_code("x = 'pass'") : x.worker == w2 ? says_code("x = 'fail'") : holds();
  };
  BOOST_REQUIRE(second.ask<accepted>(second.coordinator, start_race{fold.spec(), fold.standing()}));
  BOOST_TEST(second.runs->asked.size() == 1U);
  BOOST_TEST(second.facts_of<round_failed>(w2).at(0).why == "same candidate as worker_01's of round 1");
}

BOOST_AUTO_TEST_CASE(a_worker_that_crashes_within_the_process_does_not_run_its_candidate_again) {
  race_house house{path::direct};
  std::uint32_t seconds = 0;
  house.llm->answer = [&](const prompt& x) {
    return x.round == 1 ? says_code("x = 'fail'") : ++seconds == 1 ? holds() : says_code("x = 'pass'");
  };
  BOOST_REQUIRE(house.start(house.spec(1)));
  house.tell(house.coordinator, worker_ended{race_id{"run_1"}, w1, 1, worker_end::crashed, "bug"});
  house.pass(2s);
  BOOST_TEST(house.facts<race_ended>().at(0).end == race_end::won);
  BOOST_TEST(house.runs->asked.size() == 2U);
  std::vector<std::string> of_two;
  for (const auto& x : house.llm->asked) {
    if (x.round == 2) {
      of_two.push_back(x.user);
    }
  }
  BOOST_REQUIRE_EQUAL(of_two.size(), 2U);
  BOOST_TEST(of_two[0] == of_two[1]);
}

BOOST_AUTO_TEST_CASE(an_evaluation_and_what_follows_is_told_once_it_is_on_disk) {
  const auto at = [](std::uint64_t seq, fact body) { return event{1, seq, 0, race_id{"run_1"}, std::move(body)}; };
  event_gate gate;
  BOOST_TEST(gate.on_event(at(1, worker_moved{})).size() == 1U);
  BOOST_TEST(!gate.next_commit());
  BOOST_TEST(gate.on_event(at(2, candidate_evaluated{})).empty());
  BOOST_TEST(gate.on_event(at(3, worker_moved{})).empty());
  BOOST_TEST(gate.next_commit().value() == 3U);
  BOOST_TEST(gate.on_event(at(4, worker_moved{})).empty());
  BOOST_TEST(gate.on_event(at(5, candidate_evaluated{})).empty());
  BOOST_TEST(!gate.next_commit(), "one question at a time");
  BOOST_TEST(gate.on_answer(3).size() == 3U, "2 and 3, and 4 that waits for nothing");
  BOOST_TEST(gate.next_commit().value() == 5U);
  BOOST_TEST(gate.on_answer(5).size() == 1U);
  BOOST_TEST(!gate.next_commit());
}

BOOST_AUTO_TEST_SUITE_END()
