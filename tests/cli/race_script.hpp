// SPDX-License-Identifier: Apache-2.0
/// \file
/// A made-up race, event by event.
#pragma once

#include "messages/event.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace regatta::test {

class race_script {
public:
  explicit race_script(std::uint32_t workers) {
    race_started x;
    x.spec.race = race_id{"run_20260101_000000_00000001"};
    x.spec.stage.name = "kernel";
    x.spec.problem.name = "softmax";
    x.spec.problem.path = "/p/softmax.py";
    x.spec.run_dir = "/s/run_20260101_000000_00000001";
    for (std::uint32_t i = 1; i <= workers; ++i) {
      worker_spec spec;
      spec.number = i;
      spec.worker = make_worker_id(i);
      spec.variant = (i - 1) % 4;
      spec.choice.model = "m";
      x.spec.workers.push_back(spec);
    }
    add(x);
  }

  race_script& add(fact body) {
    event x;
    x.seq = events.size() + 1;
    x.at_us = static_cast<std::int64_t>(1'000'000 * x.seq);
    x.race = race_id{"run_20260101_000000_00000001"};
    x.body = std::move(body);
    events.push_back(std::move(x));
    return *this;
  }

  race_script& moves(std::uint32_t worker, std::uint32_t round, worker_phase phase, std::string note = "") {
    return add(worker_moved{make_worker_id(worker), round, phase, std::move(note)});
  }

  race_script& fails(std::uint32_t worker, std::uint32_t round, const std::string& why) {
    return add(round_failed{make_worker_id(worker), round, why, why});
  }

  race_script& evaluates(std::uint32_t worker, std::uint32_t round, evaluation result, bool is_accepted = false) {
    candidate_evaluated x;
    x.worker = make_worker_id(worker);
    x.round = round;
    x.attempt = 1;
    x.result = std::move(result);
    x.is_accepted = is_accepted;
    return add(x);
  }

  static evaluation exits(int status) {
    evaluation x;
    x.outcome = status == 0 ? outcome::exited : outcome::exited_nonzero;
    x.claim = status == 0 ? claim::run_tests : claim::none;
    x.exit_code = status;
    x.reason = "exit status " + std::to_string(status);
    x.engine = "triton-interpreter";
    x.sandbox_level = "L4";
    x.slot = "cpu-0";
    return x;
  }

  race_script& wins(std::uint32_t worker, std::uint32_t round) {
    evaluates(worker, round, exits(0), true);
    winner_decided x;
    x.worker = make_worker_id(worker);
    x.round = round;
    x.standing = "claimed, not verified";
    add(x);
    worker_finished done;
    done.worker = make_worker_id(worker);
    done.end = worker_end::won;
    return add(done);
  }

  race_script& ends(race_end end, const std::string& reason) {
    race_ended x;
    x.end = end;
    x.reason = reason;
    x.decided = std::chrono::milliseconds{4'200};
    x.cancelled = std::chrono::milliseconds{3};
    x.quiet = std::chrono::milliseconds{18};
    x.elapsed = std::chrono::milliseconds{4'300};
    x.llm_calls = 5;
    x.input_tokens = 1'200;
    x.output_tokens = 340;
    x.evaluations = 2;
    return add(x);
  }

  std::vector<event> events;
};

}  // namespace regatta::test
