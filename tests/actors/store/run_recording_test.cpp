// SPDX-License-Identifier: Apache-2.0
#include "actors/run_recording.hpp"

#include "actors/llm/recording_codec.hpp"
#include "tests/actors/store/state_folder.hpp"
#include "tests/actors/store/store_fixture.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

using namespace regatta;
using namespace regatta::test;

namespace {

race_record two_workers() {
  race_record out;
  out.race.workers = 2;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    auto& worker = out.workers.emplace_back();
    worker.worker = make_worker_id(i);
    worker.number = i;
  }
  return out;
}

void add_round(race_record& to, std::uint32_t worker, std::uint32_t round, const std::string& why, bool has_won = false) {
  auto& x = to.rounds.emplace_back();
  x.worker = make_worker_id(worker);
  x.round = round;
  x.why = why;
  x.has_won = has_won;
}

reply_row reply(std::uint32_t worker, std::uint32_t round, llm_outcome outcome, const std::string& text = "") {
  reply_row x;
  x.worker = worker;
  x.round = round;
  x.attempt = 1;
  x.outcome = outcome;
  x.text = text;
  x.finish_reason = "stop";
  return x;
}

recording read(const run_recording& x) {
  auto out = read_recording(x.text, "test");
  BOOST_REQUIRE_MESSAGE(out, why(out));
  return std::move(*out);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_recordings)

BOOST_AUTO_TEST_CASE(outcomes_come_back_as_they_were) {
  const auto record = two_workers();
  std::vector<reply_row> replies;
  std::uint32_t round = 0;
  for (const auto outcome : {llm_outcome::replied, llm_outcome::truncated, llm_outcome::refused, llm_outcome::empty,
                             llm_outcome::rate_limited, llm_outcome::malformed, llm_outcome::unauthorized}) {
    replies.push_back(reply(1, ++round, outcome, has_text(outcome) ? "text" : ""));
    replies.back().error = "why";
    replies.back().finish_reason = "end_turn";
  }
  const auto back = read(record_run(record, replies));
  BOOST_TEST(back.workers == 2U);
  BOOST_REQUIRE(back.replies.size() == replies.size());
  for (const auto& x : replies) {
    const auto& line = back.replies.at({x.worker, x.round, x.attempt});
    BOOST_TEST(to_string(result_of(line).outcome) == to_string(x.outcome));
    BOOST_TEST(result_of(line).text == x.text);
  }
}

BOOST_AUTO_TEST_CASE(what_no_worker_heard_of_is_left_out) {
  const auto out = record_run(two_workers(), {reply(1, 1, llm_outcome::cancelled), reply(1, 2, llm_outcome::lost_in_flight),
                                              reply(2, 1, llm_outcome::replied, "x")});
  BOOST_TEST(out.replies == 1U);
  BOOST_TEST(out.unheard == 2U);
}

BOOST_AUTO_TEST_CASE(a_reply_that_was_asked_for_twice_is_the_one_that_was_paid_for) {
  const auto back = read(record_run(two_workers(), {reply(1, 1, llm_outcome::overloaded), reply(1, 1, llm_outcome::replied, "x"),
                                                    reply(2, 1, llm_outcome::overloaded)}));
  BOOST_TEST(result_of(back.replies.at({1, 1, 1})).text == "x");
  BOOST_TEST(back.replies.size() == 2U);
}

BOOST_AUTO_TEST_CASE(nothing_that_might_win_stands_before_the_winner) {
  auto record = two_workers();
  add_round(record, 1, 1, "exit status 1");
  add_round(record, 2, 1, "exit status 1");
  add_round(record, 1, 2, "");
  add_round(record, 2, 2, "", true);
  const auto out = record_run(record, {reply(1, 1, llm_outcome::replied, "a"), reply(2, 1, llm_outcome::replied, "b"),
                                       reply(1, 2, llm_outcome::replied, "c"), reply(2, 2, llm_outcome::replied, "d")});
  BOOST_TEST(out.undecided == 1U);
  const auto back = read(out);
  BOOST_TEST(back.replies.size() == 3U);
  BOOST_TEST((back.replies.at({1, 1, 1}).is_accepted == false));
  BOOST_TEST((back.replies.at({2, 2, 1}).is_accepted == true));
}

BOOST_FIXTURE_TEST_CASE(a_stored_race_is_a_recording, state_folder) {
  {
    running_store store{state};
    const auto race = won_race("run_1");
    store.tell(race);
    pay(store, race);
  }
  auto reader = store_reader::open(state);
  BOOST_REQUIRE(reader);
  const auto replies = reader->load_replies(race_id{"run_1"});
  BOOST_REQUIRE_MESSAGE(replies, why(replies));
  const auto back = read(record_run(load("run_1"), *replies));
  BOOST_TEST(back.replies.size() == 3U);
  const auto& winning = back.replies.at({2, 2, 1});
  BOOST_TEST((winning.is_accepted == true));
  BOOST_TEST(result_of(winning).text == "```python\ny = 2\n```\n");
  BOOST_TEST(*winning.usage.output_tokens == 20U);
}

BOOST_AUTO_TEST_SUITE_END()
