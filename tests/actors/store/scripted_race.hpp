// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole races as lists of events, as the race actor would publish them.
#pragma once

#include "messages/digest.hpp"
#include "messages/event.hpp"

#include <string>
#include <utility>
#include <vector>

namespace regatta::test {

/// 2026-11-30 22:51:22 UTC.
inline constexpr std::int64_t race_start_us = 1'796'079'082'000'000;

class scripted_race {
public:
  explicit scripted_race(std::string id, std::uint32_t workers = 2) {
    spec.race = race_id{std::move(id)};
    spec.stage = {"kernel", "You write kernels.", {"Be fast."}, "Write one file.", {"ModelNew"}, "stage-digest"};
    spec.problem = {"softmax", "/problems/softmax.py", "class Model: ...\n", sha256_hex("class Model: ...\n")};
    spec.rounds = 3;
    for (std::uint32_t i = 1; i <= workers; ++i) {
      model_choice choice{"openai", "gpt-x", 0.5, std::nullopt, 0, "high"};
      spec.workers.push_back({make_worker_id(i), i, i - 1, choice, {}});
    }
  }

  /// Adds a fact 1 ms after the one before.
  scripted_race& add(fact body) {
    const auto seq = static_cast<std::uint64_t>(events.size() + 1);
    events.push_back({1, seq, race_start_us + static_cast<std::int64_t>(seq) * 1000, spec.race, std::move(body)});
    return *this;
  }

  scripted_race& start() {
    add(race_started{spec, "0.1.0"});
    for (const auto& x : spec.workers) {
      add(worker_started{x.worker, node_id{"host-a"}, 1, 1, x.variant, x.choice});
    }
    return *this;
  }

  /// Prompt, two deltas, reply with usage.
  scripted_race& ask(std::uint32_t number, std::uint32_t round, const std::string& text) {
    const auto id = make_worker_id(number);
    add(worker_moved{id, round, worker_phase::prompting, ""});
    add(prompt_sent{id, round, 1, spec.workers.front().choice, "Solve softmax.", sha256_hex("prompt")});
    add(reply_delta{id, round, 1, text.substr(0, text.size() / 2)});
    add(reply_delta{id, round, 1, text.substr(text.size() / 2)});
    return add(reply_ended{id, round, 1, llm_outcome::replied, text, "stop", "resp_" + std::to_string(round),
                           token_usage{100, 20, 5, 10}, "", 200, 1, std::chrono::milliseconds{12},
                           std::chrono::milliseconds{80}, 0, {}, 0, 0, false});
  }

  scripted_race& find(std::uint32_t number, std::uint32_t round, const std::string& code) {
    const auto id = make_worker_id(number);
    add(code_extracted{id, round, 1, extraction::found, "block 1 of 1", code, digest_of_source(code)});
    return add(candidate_reserved{id, round, 1, digest_of_source(code), duplicate::unique, id});
  }

  static evaluation result(bool passes) {
    evaluation x;
    x.outcome = passes ? outcome::exited : outcome::exited_nonzero;
    x.claim = passes ? claim::run_tests : claim::none;
    x.exit_code = passes ? 0 : 1;
    x.reason = passes ? "run_tests printed PASS and exited 0" : "exit status 1";
    x.stdout_text = passes ? "PASS\n" : "";
    x.stderr_text = passes ? "" : "Traceback (most recent call last)\n";
    x.stdout_bytes = x.stdout_text.size();
    x.stderr_bytes = x.stderr_text.size();
    x.started_us = race_start_us + 5'000;
    x.elapsed = std::chrono::milliseconds{250};
    x.node = "host-a";
    x.slot = "cpu-1";
    x.engine = "triton-interpreter";
    x.sandbox_level = "L4";
    x.sandbox_engine = "own";
    x.python = "/usr/bin/python3";
    return x;
  }

  scripted_race& evaluate(std::uint32_t number, std::uint32_t round, const std::string& code, evaluation x) {
    const bool passes = is_accepted(verdict_of(x), accept_rule::claimed);
    add(worker_moved{make_worker_id(number), round, worker_phase::evaluating, "cpu-1"});
    return add(candidate_evaluated{make_worker_id(number), round, 1, digest_of_source(code), std::move(x), passes});
  }

  scripted_race& lose(std::uint32_t number, std::uint32_t round, const std::string& code) {
    ask(number, round, "```python\n" + code + "```\n").find(number, round, code);
    evaluate(number, round, code, result(false));
    return add(round_failed{make_worker_id(number), round, "exit status 1", "RUN_FAIL: exit status 1"});
  }

  scripted_race& win(std::uint32_t number, std::uint32_t round, const std::string& code, evaluation x = result(true)) {
    ask(number, round, "```python\n" + code + "```\n").find(number, round, code).evaluate(number, round, code, x);
    return add(winner_decided{make_worker_id(number), round, digest_of_source(code), code, x, "claimed, not verified"});
  }

  scripted_race& finish(std::uint32_t number, worker_end end, const std::string& reason) {
    return add(worker_finished{make_worker_id(number), 1, end, reason});
  }

  scripted_race& end(race_end how, const std::string& reason, std::uint32_t winner = 0, std::uint32_t round = 0) {
    race_ended x;
    x.end = how;
    x.reason = reason;
    x.winner = winner == 0 ? worker_id{} : make_worker_id(winner);
    x.winner_round = round;
    x.decided = std::chrono::microseconds{400'250};
    x.cancelled = std::chrono::microseconds{1'500};
    x.quiet = std::chrono::microseconds{20'000};
    x.elapsed = std::chrono::microseconds{450'000};
    x.unconfirmed_nodes = {node_id{"host-z"}};
    x.input_tokens = 300;
    x.output_tokens = 60;
    x.llm_calls = 3;
    x.evaluations = 3;
    return add(std::move(x));
  }

  race_spec spec;
  std::vector<event> events;
};

/// Worker 1 fails once, worker 2 wins in round 2.
inline scripted_race won_race(const std::string& id, evaluation winning = scripted_race::result(true)) {
  scripted_race race{id};
  race.start().lose(1, 1, "x = 1\n").lose(2, 1, "y = 1\n").win(2, 2, "y = 2\n", std::move(winning));
  race.add(race_cancelled{"won", 1, 1, 1});
  race.finish(2, worker_end::won, "").finish(1, worker_end::cancelled, "the race is won");
  return race.end(race_end::won, "pass via run_tests at iter 2", 2, 2);
}

inline scripted_race lost_race(const std::string& id) {
  scripted_race race{id};
  race.start().lose(1, 1, "x = 1\n").lose(2, 1, "y = 1\n");
  race.finish(1, worker_end::rounds_spent, "3 rounds").finish(2, worker_end::llm_failed, "unauthorized");
  return race.end(race_end::no_passing_solution, "no_passing_solution");
}

inline scripted_race cancelled_race(const std::string& id) {
  scripted_race race{id};
  race.start().ask(1, 1, "half a rep");
  race.add(race_cancelled{"Ctrl-C", 0, 2, 1});
  race.finish(1, worker_end::cancelled, "Ctrl-C").finish(2, worker_end::cancelled, "Ctrl-C");
  return race.end(race_end::cancelled, "canceled");
}

}  // namespace regatta::test
