// SPDX-License-Identifier: Apache-2.0
/// \file
/// WORKER ORDER: what a worker is told, taken apart. Prompts, problem and rules of a race are some 20 kB and the same
/// for all its workers, so a host keeps them once for a race and not once for each of a thousand workers.
#pragma once

#include "messages/race.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace regatta {

/// What all workers of a race are told alike.
struct worker_brief {
  race_id race;
  stage_spec stage;
  problem_spec problem;
  accept_rule accept = accept_rule::claimed;
  duplicate_policy on_duplicate = duplicate_policy::reprompt;
  device_need device = device_need::any;
  run_limits limits;
  std::vector<std::string> keep;
  judge_terms judging;
};
using shared_brief = std::shared_ptr<const worker_brief>;

inline shared_brief brief_of(const spawn_worker& x) {
  return std::make_shared<const worker_brief>(
      worker_brief{x.race, x.stage, x.problem, x.accept, x.on_duplicate, x.device, x.limits, x.keep, x.judging});
}

/// What one worker is told.
struct worker_order {
  shared_brief brief;
  worker_spec spec;
  std::uint32_t start = 1;
  std::uint32_t rounds = 10;  ///< Not in the brief: a race that is resumed may allow more.
  worker_progress progress;
};

/// `brief`: shared with the race's other workers on this host; empty: one of its own.
inline worker_order order_of(const spawn_worker& x, shared_brief brief = nullptr) {
  return {brief ? std::move(brief) : brief_of(x), x.spec, x.start, x.rounds, x.progress};
}

}  // namespace regatta
