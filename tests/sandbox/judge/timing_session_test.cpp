// SPDX-License-Identifier: Apache-2.0
// Timings over scripted sides: what is asked of whom, and what ends how. No test looks at how long anything took.
#include "tests/sandbox/judge/judged.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <set>

using namespace regatta::judge;
using namespace regatta::judge::testing;
using regatta::to_string;

namespace {

constexpr std::size_t set_bytes = toy_rows * toy_columns * sizeof(float);

json set_node(const std::string& dtype) {
  return list_node({tensor_node(dtype, {toy_rows, toy_columns}, set_bytes)});
}

/// What a test does to one side's answers.
struct toy_habits {
  std::string dtype = "float32";
  std::function<void(message& answer, const json& question)> change = [](message&, const json&) {};
  /// Which call's outputs are handed out for one that was picked.
  std::function<unsigned(unsigned call)> pick = [](unsigned call) { return call; };
  std::function<bool(const json& question)> leaves = [](const json&) { return false; };
};

/// A side that answers questions about time with the toy problem. A call takes a few µs so that two batches differ.
class toy_timer {
public:
  explicit toy_timer(side who, toy_habits habits) : who_(who), habits_(std::move(habits)) {}

  message answer(const message& question) {
    const auto op = question.head.at("op").get<std::string>();
    message out;
    if (op == "time_load") {
      out = load(question);
    } else if (op == "time_go") {
      out = go(question.head);
    } else if (op == "time_pick") {
      const auto call = habits_.pick(question.head.at("call").get<unsigned>());
      out = {{{"op", "picked"}, {"outputs", tensor_node("float32", {toy_rows, toy_columns}, set_bytes)}},
             bytes_of(outputs_.at(call))};
    } else {
      return who_ == side::reference ? toy_reference(question) : toy_candidate(question);
    }
    out.head["id"] = question.head.at("id");
    habits_.change(out, question.head);
    return out;
  }

private:
  message load(const message& question) {
    sets_.clear();
    message out{{{"op", "loaded"}}, {}};
    if (who_ == side::candidate) {
      const auto all = floats_of(question.body);
      for (std::size_t at = 0; at < all.size(); at += toy_rows * toy_columns) {
        sets_.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                           all.begin() + static_cast<std::ptrdiff_t>(at + toy_rows * toy_columns));
      }
      return out;
    }
    out.head["inputs"] = json::array();
    for (const auto& seed : question.head.at("input_seeds")) {
      sets_.push_back(toy_inputs(seed.get<std::uint64_t>()));
      out.head["inputs"].push_back(set_node(habits_.dtype));
      out.body += bytes_of(sets_.back());
    }
    return out;
  }

  message go(const json& question) {
    const auto nonce = question.at("nonce").get<std::uint64_t>();
    outputs_.clear();
    for (std::size_t i = 0; i < question.at("calls").get<std::size_t>(); ++i) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{200};
      auto x = sets_.at((i / 3 + nonce) % sets_.size());
      for (auto& each : x) {
        each *= 0.75F + 0.001F * static_cast<float>((nonce + i) % 250);
      }
      outputs_.push_back(toy_forward(x, weights_of_seed(1, "plain")));
      while (std::chrono::steady_clock::now() < until) {
      }
    }
    return {{{"op", "timed"}, {"own_ns", 200'000 * outputs_.size()}, {"threads", 0}, {"copies", false}, {"cache_bytes", 0}}, {}};
  }

  side who_;
  toy_habits habits_;
  std::vector<std::vector<float>> sets_, outputs_;
};

script timer_of(side who, const toy_habits& habits) {
  const auto timer = std::make_shared<toy_timer>(who, habits);
  const auto leaves = habits.leaves;
  return [=](script_pipes& pipes) {
    pipes.send(who == side::reference ? reference_hello_message() : candidate_hello_message());
    message question;
    while (pipes.read_question(question) && !leaves(question.head)) {
      pipes.send(timer->answer(question));
    }
  };
}

judge_verdict timed(const toy_habits& candidate, const toy_habits& reference = {}) {
  auto request = request_of();
  request.kind = request_kind::time;
  request.timing_budget = milliseconds{10'000};
  request.timing_room.usual = 16 * 3 * set_bytes;  // about 16 calls in a batch
  scripted_side a{timer_of(side::reference, reference)}, b{timer_of(side::candidate, candidate)};
  auto from_reference = a.open(side::reference, request.body_limit);
  auto from_candidate = b.open(side::candidate, request.body_limit);
  auto out = time_candidate(request, from_reference, from_candidate);
  BOOST_REQUIRE(out.timing);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timing_session)

BOOST_AUTO_TEST_CASE(an_honest_candidate_is_timed_and_a_call_of_each_batch_is_checked) {
  const auto got = timed({});
  check_ends(got, ending::correct, "");
  const auto& timing = *got.timing;
  BOOST_TEST(to_string(timing.status) == "timed", timing.reason);
  BOOST_TEST(timing.speedup.median > 0);
  BOOST_TEST(timing.candidate.median > 0);
  BOOST_TEST(timing.checked_calls == 3 + 2 * (timing.pairs + timing.rejected_pairs));
  BOOST_TEST(timing.has_flag("interpreted"));
  BOOST_TEST(timing.dtypes.size() == 1U);
  BOOST_TEST(!timing.reference_events);
  BOOST_TEST(got.is_reference_usable);
}

BOOST_AUTO_TEST_CASE(a_candidate_that_did_the_work_of_one_call_only_is_not_right) {
  toy_habits lazy;
  lazy.pick = [](unsigned) { return 0U; };
  const auto got = timed(lazy);
  check_ends(got, ending::mismatch, "");
  BOOST_TEST(to_string(got.timing->status) == "not_right");
  BOOST_TEST(has(got.reason, "of a timed batch"), got.reason);
  BOOST_TEST(got.timing->speedup.median == 0);
}

BOOST_AUTO_TEST_CASE(both_sides_get_the_same_nonce_and_neither_has_seen_it_before) {
  std::set<std::uint64_t> asked_reference, asked_candidate;
  toy_habits reference, candidate;
  reference.change = [&](message&, const json& question) {
    if (question.at("op") == "time_go") {
      BOOST_TEST(asked_reference.insert(question.at("nonce").get<std::uint64_t>()).second);
    }
  };
  candidate.change = [&](message&, const json& question) {
    BOOST_TEST(!question.contains("input_seeds"));
    if (question.at("op") == "time_go") {
      BOOST_TEST(asked_candidate.insert(question.at("nonce").get<std::uint64_t>()).second);
    }
  };
  timed(candidate, reference);
  BOOST_TEST(asked_reference == asked_candidate);
}

BOOST_AUTO_TEST_CASE(inputs_without_floating_numbers_are_new_for_every_batch) {
  const auto loads_per_batch = [](const std::string& dtype) {
    std::atomic<int> loads = 0, batches = 0;
    toy_habits reference;
    reference.dtype = dtype;
    reference.change = [&](message&, const json& question) {
      loads += question.at("op") == "time_load" ? 1 : 0;
      batches += question.at("op") == "time_go" ? 1 : 0;
    };
    timed({}, reference);
    // One load and six batches are for a first look.
    return std::pair{loads - 1, batches - 6};
  };
  const auto [loads, batches] = loads_per_batch("int32");
  BOOST_TEST(loads == batches + 1);
  const auto [one_load, as_many_batches] = loads_per_batch("float32");
  BOOST_TEST(one_load == 1);
  BOOST_TEST(as_many_batches == batches);
}

BOOST_AUTO_TEST_CASE(what_a_side_says_of_itself_is_only_compared) {
  for (const json& said : {json(1), json(-5), json("soon"), json(nullptr), json(1e300)}) {
    toy_habits lying;
    lying.change = [&](message& answer, const json&) {
      if (answer.head.at("op") == "timed") {
        answer.head["own_ns"] = said;
      }
    };
    const auto got = timed(lying);
    check_ends(got, ending::correct, "");
    BOOST_TEST(to_string(got.timing->status) == "timed", got.timing->reason);
    BOOST_TEST(got.timing->has_flag("clock_disagrees"), said.dump());
  }
}

BOOST_AUTO_TEST_CASE(threads_and_copies_are_flagged) {
  toy_habits busy;
  busy.change = [](message& answer, const json&) {
    if (answer.head.at("op") == "timed") {
      answer.head["threads"] = 2;
      answer.head["copies"] = true;
    }
  };
  const auto got = timed(busy);
  BOOST_TEST(got.timing->has_flag("background_threads"));
  BOOST_TEST(got.timing->has_flag("outputs_copied"));
}

BOOST_AUTO_TEST_CASE(a_candidate_that_raises_leaves_or_talks_nonsense_is_not_timed) {
  toy_habits raising, leaving, mumbling;
  raising.change = [](message& answer, const json& question) {
    if (question.at("op") == "time_go") {
      answer = {{{"op", "failed"}, {"id", question.at("id")}, {"judgement", "raised"}, {"reason", "ValueError: tired"}}, {}};
    }
  };
  leaving.leaves = [](const json& question) { return question.at("op") == "time_pick"; };
  mumbling.change = [](message& answer, const json& question) {
    if (question.at("op") == "time_go") {
      answer.head.erase("threads");
    }
  };
  const std::vector<std::pair<toy_habits, ending>> table{
      {raising, ending::raised}, {leaving, ending::candidate_gone}, {mumbling, ending::contract_violation}};
  for (const auto& [habits, wanted] : table) {
    const auto got = timed(habits);
    check_ends(got, wanted, "");
    BOOST_TEST(to_string(got.timing->status) == "failed");
    BOOST_TEST(!got.timing->reason.empty());
  }
}

BOOST_AUTO_TEST_CASE(an_answer_to_another_question_is_none) {
  toy_habits early;
  early.change = [](message& answer, const json& question) {
    if (question.at("op") == "time_go") {
      answer.head["id"] = question.at("id").get<std::uint64_t>() + 1;
    }
  };
  check_ends(timed(early), ending::contract_violation, "another question");
}

BOOST_AUTO_TEST_CASE(a_candidate_that_is_wrong_from_the_start_is_not_timed) {
  auto request = request_of();
  request.kind = request_kind::time;
  scripted_side a{timer_of(side::reference, {})};
  scripted_side b{says(candidate_hello_message(), with_outputs([](auto& out) { out[3] += 1; }))};
  auto from_reference = a.open(side::reference, request.body_limit);
  auto from_candidate = b.open(side::candidate, request.body_limit);
  const auto got = time_candidate(request, from_reference, from_candidate);
  check_ends(got, ending::mismatch, "1 of 30 elements differ");
  BOOST_TEST(to_string(got.timing->status) == "not_right");
}

BOOST_AUTO_TEST_CASE(a_call_that_has_no_room_twice_is_not_timed) {
  auto request = request_of();
  request.kind = request_kind::time;
  request.timing_room = {100, 100};
  scripted_side a{timer_of(side::reference, {})}, b{timer_of(side::candidate, {})};
  auto from_reference = a.open(side::reference, request.body_limit);
  auto from_candidate = b.open(side::candidate, request.body_limit);
  const auto got = time_candidate(request, from_reference, from_candidate);
  BOOST_TEST(to_string(got.timing->status) == "failed");
  BOOST_TEST(has(got.timing->reason, "no room"), got.timing->reason);
}

BOOST_AUTO_TEST_CASE(the_record_has_a_timing_only_where_one_was_asked_for) {
  const auto with = json::parse(write_verdict(timed({})));
  BOOST_TEST(with.at("timing").at("status") == "timed");
  BOOST_TEST(with.at("timing").at("speedup").at("median").is_number());
  BOOST_TEST(!json::parse(write_verdict(judged(toy_candidate))).contains("timing"));
}

BOOST_AUTO_TEST_SUITE_END()
