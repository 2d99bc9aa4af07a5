// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/recording_codec.hpp"
#include "actors/llm/replay_player.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace regatta;
using namespace std::chrono_literals;

namespace {

const replay_player::time_point t0{1h};
const std::string head = "{\"format\":\"regatta-recording/1\"}\n";

std::string failure_of(const std::string& text) {
  const auto got = read_recording(text, "r.jsonl");
  BOOST_REQUIRE(!got);
  BOOST_TEST((code_of(got.error()) == ec::invalid_config));
  return text_of(got.error());
}

recorded_reply entry(std::uint32_t worker, std::uint32_t round, std::optional<bool> is_accepted = std::nullopt) {
  recorded_reply x;
  x.key = {worker, round, 1};
  x.deltas = {"w" + std::to_string(worker), "r" + std::to_string(round)};
  x.finish = "stop";
  x.is_accepted = is_accepted;
  return x;
}

recording made_of(const std::vector<recorded_reply>& entries) {
  recording out;
  for (const auto& x : entries) {
    out.replies.emplace(x.key, x);
  }
  return out;
}

work_key key_of(std::uint32_t worker, std::uint32_t round) {
  return {race_id{"r"}, make_worker_id(worker), round, 1};
}

/// Texts that came, as "w1r1".
std::vector<std::string> texts(const std::vector<replay_step>& steps) {
  std::vector<std::string> out;
  for (const auto& x : steps) {
    out.push_back(x.end ? x.end->outcome == llm_outcome::replied ? x.end->text : to_string(x.end->outcome) : "…");
  }
  return out;
}

using names = std::vector<std::string>;

/// A race in random order: each worker asks, is evaluated for a random while on one of `slots`, and either wins (if its
/// reply is in `passing`) or asks again. Returns the winner's reply.
std::string race(const recording& source, const names& passing, std::uint32_t workers, std::size_t slots,
                 std::uint64_t seed) {
  std::mt19937_64 random{seed};
  replay_player player{source, "r.jsonl", true};
  std::vector<std::uint32_t> about_to_ask;
  std::map<std::uint32_t, std::uint32_t> round;
  std::vector<std::pair<std::uint32_t, std::string>> waiting;
  std::vector<std::pair<std::uint32_t, std::string>> evaluating;
  for (std::uint32_t w = 1; w <= workers; ++w) {
    about_to_ask.push_back(w);
  }
  const auto take_random = [&](auto& from) {
    std::swap(from[random() % from.size()], from.back());
    auto out = from.back();
    from.pop_back();
    return out;
  };
  while (!about_to_ask.empty() || !waiting.empty() || !evaluating.empty()) {
    while (!waiting.empty() && evaluating.size() < slots) {
      evaluating.push_back(take_random(waiting));
    }
    if (!about_to_ask.empty() && (evaluating.empty() || random() % 2 == 0)) {
      const auto w = take_random(about_to_ask);
      player.ask(key_of(w, ++round[w]), workers, t0);
    } else if (!evaluating.empty()) {
      const auto [w, text] = take_random(evaluating);
      if (std::find(passing.begin(), passing.end(), text) != passing.end()) {
        return text;
      }
      about_to_ask.push_back(w);
    }
    for (const auto& step : player.advance(t0)) {
      if (step.end && step.end->outcome == llm_outcome::replied) {
        waiting.emplace_back(number_of(step.key.worker), step.end->text);
      } else if (step.end) {
        player.forget(step.key.race, step.key.worker);
      }
    }
  }
  return "nobody";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recordings)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) {
  auto reply = entry(2, 3, true);
  reply.key.attempt = 2;
  reply.delays = {5ms, 0ms};
  reply.response_id = "r";
  reply.usage = {1, 2, std::nullopt, 0};
  recorded_reply failed;
  failed.key = {1, 1, 1};
  failed.error = llm_outcome::rate_limited;
  failed.error_text = "slow down";
  failed.http_status = 429;
  recorded_reply stalled;
  stalled.key = {3, 1, 1};
  stalled.is_stalled = true;
  const auto text =
      recording_header(3) + recording_line(reply) + "\n" + recording_line(failed) + recording_line(stalled);
  const auto got = read_recording(text, "r.jsonl");
  BOOST_REQUIRE(got);
  BOOST_TEST(got->workers == 3U);
  BOOST_REQUIRE(got->replies.size() == 3U);
  const auto& again = got->replies.at({2, 3, 2});
  BOOST_TEST(recording_line(again) == recording_line(reply));
  BOOST_TEST(again.usage.cached_tokens.value() == 0U);
  BOOST_TEST((again.delays == reply.delays));
  BOOST_TEST(result_of(got->replies.at({1, 1, 1})).outcome == llm_outcome::rate_limited);
  BOOST_TEST(got->replies.at({3, 1, 1}).is_stalled);
}

BOOST_AUTO_TEST_CASE(an_unknown_version_names_file_line_got_and_allowed) {
  BOOST_TEST(failure_of("{\"format\":\"regatta-recording/2\"}\n") ==
             "r.jsonl:1: format: got \"regatta-recording/2\", allowed: regatta-recording/1");
  BOOST_TEST(failure_of("") == "r.jsonl:1: format: got nothing, allowed: regatta-recording/1");
  BOOST_TEST(failure_of("{}\n") == "r.jsonl:1: format: got nothing, allowed: regatta-recording/1");
}

BOOST_AUTO_TEST_CASE(a_bad_line_is_named_by_number_and_key) {
  const auto with = [](const std::string& line) { return failure_of(head + "\n" + line + "\n"); };
  BOOST_TEST(with("[1]") == "r.jsonl:3: line: got [1], allowed: a JSON object");
  BOOST_TEST(with(R"({"round":1,"finish":"stop"})") == "r.jsonl:3: worker: got nothing, allowed: an integer from 1");
  BOOST_TEST(with(R"({"worker":1,"round":-1,"finish":"stop"})") ==
             "r.jsonl:3: round: got -1, allowed: an integer from 1");
  BOOST_TEST(with(R"({"worker":1,"round":1})").find("finish") != std::string::npos);
  BOOST_TEST(with(R"({"worker":1,"round":1,"deltas":"x","finish":"stop"})").find("deltas: got \"x\"") !=
             std::string::npos);
  BOOST_TEST(with(R"({"worker":1,"round":1,"delay_ms":-1,"finish":"stop"})").find("delay_ms") != std::string::npos);
  BOOST_TEST(with(R"({"worker":1,"round":1,"error":{"outcome":"bored"}})").find("error.outcome: got bored") !=
             std::string::npos);
  BOOST_TEST(failure_of(head + recording_line(entry(1, 1)) + recording_line(entry(1, 1))).find("r.jsonl:3: worker") ==
             0U);
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_skipped_and_windows_line_ends_are_fine) {
  const auto got = read_recording(
      "{\"format\":\"regatta-recording/1\",\"by\":\"me\"}\r\n"
      "{\"worker\":1,\"round\":1,\"deltas\":[\"x\"],\"finish\":\"stop\",\"mood\":1}\r\n",
      "f");
  BOOST_REQUIRE(got);
  BOOST_TEST(result_of(got->replies.begin()->second).text == "x");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(replay)

BOOST_AUTO_TEST_CASE(too_few_entries_are_named_and_nothing_wraps_around) {
  replay_player player{made_of({entry(1, 1)}), "r.jsonl", true};
  player.ask(key_of(1, 1), 1, t0);
  BOOST_TEST(texts(player.advance(t0)) == names{"w1r1"}, boost::test_tools::per_element());
  player.ask(key_of(1, 2), 1, t0);
  const auto steps = player.advance(t0);
  BOOST_REQUIRE(steps.size() == 1U);
  BOOST_TEST(steps[0].end.value().outcome == llm_outcome::recording_ended);
  BOOST_TEST(steps[0].end.value().error == "r.jsonl has no entry for worker 1, round 2, attempt 1");
}

BOOST_AUTO_TEST_CASE(replies_go_out_one_after_the_other_as_their_workers_come_back) {
  replay_player player{made_of({entry(1, 1), entry(2, 1), entry(1, 2), entry(2, 2)}), "f", true};
  player.ask(key_of(2, 1), 2, t0);
  BOOST_TEST(player.advance(t0).empty(), "worker 1 comes first");
  BOOST_TEST(player.waits_for(key_of(2, 1)) == "replay: the turn of worker 1, round 1");
  player.ask(key_of(1, 1), 2, t0);
  BOOST_TEST(texts(player.advance(t0)) == names{"w1r1"}, boost::test_tools::per_element());
  BOOST_TEST(player.advance(t0 + 1h).empty(), "worker 1 is being evaluated");
  player.ask(key_of(1, 2), 2, t0);
  BOOST_TEST(texts(player.advance(t0)) == names{"w2r1"}, boost::test_tools::per_element());
  player.forget(race_id{"r"}, make_worker_id(2));
  BOOST_TEST(texts(player.advance(t0)) == names{"w1r2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(unordered_replies_go_out_at_once) {
  replay_player player{made_of({entry(1, 1), entry(2, 1)}), "f", false};
  player.ask(key_of(2, 1), 2, t0);
  BOOST_TEST(texts(player.advance(t0)) == names{"w2r1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(replies_that_cannot_win_do_not_wait_and_nobody_waits_for_them) {
  replay_player player{made_of({entry(1, 1, false), entry(2, 1, false), entry(3, 1, true), entry(1, 2, true)}), "f",
                       true};
  player.ask(key_of(2, 1), 3, t0);
  player.ask(key_of(3, 1), 3, t0);
  BOOST_TEST(texts(player.advance(t0)) == (names{"w2r1", "w3r1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_later_round_waits_for_an_earlier_one_that_may_win) {
  replay_player player{made_of({entry(1, 1, false), entry(1, 2, true), entry(2, 1, true)}), "f", true};
  player.ask(key_of(1, 1), 2, t0);
  player.advance(t0);
  player.ask(key_of(1, 2), 2, t0);
  BOOST_TEST(player.advance(t0).empty(), "worker 2, round 1 is still to come");
  player.ask(key_of(2, 1), 2, t0);
  BOOST_TEST(texts(player.advance(t0)) == names{"w2r1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(workers_that_never_appear_are_not_waited_for_for_ever) {
  const auto source = made_of({entry(1, 1), entry(2, 1)});
  replay_player known{source, "f", true};
  known.ask(key_of(1, 1), 1, t0);
  BOOST_TEST(known.advance(t0).size() == 1U);
  known.ask(key_of(1, 2), 1, t0);
  BOOST_TEST(known.advance(t0).size() == 1U, "the race has one worker and says so");
  replay_player unknown{source, "f", true};
  unknown.ask(key_of(2, 1), 0, t0);
  BOOST_TEST(unknown.advance(t0 + 15s - 1ns).empty());
  BOOST_TEST(unknown.advance(t0 + 15s).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_stalled_reply_holds_nobody_up_and_ends_only_with_its_worker) {
  auto stalled = entry(1, 1);
  stalled.is_stalled = true;
  replay_player player{made_of({stalled, entry(2, 1)}), "f", true};
  player.ask(key_of(1, 1), 2, t0);
  player.ask(key_of(2, 1), 2, t0);
  BOOST_TEST(texts(player.advance(t0)) == (names{"…", "w2r1"}), boost::test_tools::per_element());
  BOOST_TEST(player.advance(t0 + 24h).empty());
}

BOOST_AUTO_TEST_CASE(delays_are_kept) {
  auto slow = entry(1, 1);
  slow.delays = {10ms, 20ms};
  replay_player player{made_of({slow}), "f", true};
  player.ask(key_of(1, 1), 1, t0);
  BOOST_TEST(player.advance(t0 + 0ms).empty());
  BOOST_TEST(player.advance(t0 + 9ms).empty());
  const auto first = player.advance(t0 + 10ms);
  BOOST_REQUIRE(first.size() == 1U);
  BOOST_TEST(first[0].text == "w1");
  BOOST_TEST(!first[0].end);
  BOOST_TEST(player.advance(t0 + 29ms).empty());
  BOOST_TEST(texts(player.advance(t0 + 30ms)) == names{"w1r1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_winner_is_the_same_on_any_machine) {
  std::vector<recorded_reply> plain;
  std::vector<recorded_reply> marked;
  for (std::uint32_t worker = 1; worker <= 4; ++worker) {
    for (std::uint32_t round = 1; round <= 4; ++round) {
      const bool passes = (worker == 3 && round == 2) || (worker == 1 && round == 3) || (worker == 4 && round == 2);
      plain.push_back(entry(worker, round));
      marked.push_back(entry(worker, round, passes));
    }
  }
  const names passing{"w3r2", "w1r3", "w4r2"};
  for (const auto slots : {1U, 16U}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      BOOST_TEST(race(made_of(plain), passing, 4, slots, seed) == "w3r2", "seed " << seed);
      BOOST_TEST(race(made_of(marked), passing, 4, slots, seed) == "w3r2", "seed " << seed);
    }
  }
  BOOST_TEST(race(made_of(plain), passing, 2, 16, 1) == "w1r3", "without workers 3 and 4");
  BOOST_TEST(race(made_of(plain), {}, 4, 16, 1) == "nobody");
}

BOOST_AUTO_TEST_SUITE_END()
