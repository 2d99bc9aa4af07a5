// SPDX-License-Identifier: Apache-2.0
// A worker that goes on with what a former start of it has left on record.
#include "actors/worker_rules.hpp"
#include "messages/digest.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;

namespace {

struct resumed_worker {
  static spawn_worker job(outcome how) {
    spawn_worker out;
    out.race = race_id{"run_1"};
    out.spec = {worker_id{"worker_01"}, 1, 0, {"p", "m", {}, {}, 0, ""}, {}};
    out.start = 2;
    out.rounds = 3;
    out.progress.round = 2;
    known_evaluation known;
    known.digest = digest_of_source("x = 1\n");
    known.result.outcome = how;
    known.result.claim = how == outcome::exited ? claim::run_tests : claim::none;
    known.result.reason = "because";
    out.progress.evaluated.push_back(known);
    return out;
  }

  /// Everything up to the candidate's digest.
  static std::vector<worker_effect> play(worker_rules& rules, const std::string& code) {
    const worker_rules::time_point t0{};
    rules.begin(t0);
    rules.take_effects();
    prompt_ended reply;
    reply.race = race_id{"run_1"};
    reply.worker = worker_id{"worker_01"};
    reply.round = 2;
    reply.attempt = 1;
    reply.outcome = llm_outcome::replied;
    reply.text = "```python\n" + code + "```\n";
    rules.on_prompt_ended(reply, t0);
    for (const auto& x : rules.take_effects()) {
      if (const auto* asked = std::get_if<worker_request>(&x)) {
        rules.on_source_report(asked->step, {{{true, "", {}, false}}}, t0);
      }
    }
    return rules.take_effects();
  }

  template <class T>
  static const T* find(const std::vector<worker_effect>& all) {
    for (const auto& x : all) {
      if (const auto* effect = std::get_if<T>(&x)) {
        return effect;
      }
    }
    return nullptr;
  }
  template <class T>
  static const T* find_request(const std::vector<worker_effect>& all) {
    for (const auto& x : all) {
      const auto* asked = std::get_if<worker_request>(&x);
      if (const auto* body = asked == nullptr ? nullptr : std::get_if<T>(&asked->body)) {
        return body;
      }
    }
    return nullptr;
  }
  template <class T>
  static const T* find_fact(const std::vector<worker_effect>& all) {
    for (const auto& x : all) {
      const auto* told = std::get_if<report>(&x);
      if (const auto* body = told == nullptr ? nullptr : std::get_if<T>(&told->body)) {
        return body;
      }
    }
    return nullptr;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(worker_resume, resumed_worker)

BOOST_AUTO_TEST_CASE(a_failure_on_record_is_used_and_not_told_again) {
  worker_rules rules{order_of(job(outcome::exited_nonzero))};
  const auto effects = play(rules, "x = 1\n");
  BOOST_TEST(!find_request<reserve>(effects));
  BOOST_TEST(!find_request<run>(effects));
  BOOST_TEST(!find_fact<candidate_evaluated>(effects));
  BOOST_REQUIRE(find_fact<round_failed>(effects));
  BOOST_TEST(find_fact<round_failed>(effects)->error_context.starts_with("RUN_FAIL: because"));
  BOOST_REQUIRE(find<settle>(effects));
  BOOST_REQUIRE(find_request<prompt>(effects));
  BOOST_TEST(find_request<prompt>(effects)->round == 3U);
}

BOOST_AUTO_TEST_CASE(a_pass_on_record_wins) {
  worker_rules rules{order_of(job(outcome::exited))};
  const auto effects = play(rules, "x = 1\n");
  BOOST_TEST(!find_request<run>(effects));
  BOOST_REQUIRE(find<winner>(effects));
  BOOST_TEST(find<winner>(effects)->round == 2U);
  BOOST_TEST(rules.is_ended());
}

BOOST_AUTO_TEST_CASE(another_candidate_than_that_on_record_takes_the_usual_way) {
  worker_rules rules{order_of(job(outcome::exited))};
  const auto effects = play(rules, "x = 2\n");
  BOOST_TEST(find_request<reserve>(effects));
  BOOST_TEST(!find<winner>(effects));
}

BOOST_AUTO_TEST_SUITE_END()
