// SPDX-License-Identifier: Apache-2.0
/// \file
/// WORKER BRIEF: what all workers of a race are told alike. Prompts and problem are some 20 kB, so a host keeps them
/// once for a race and not once for each of a thousand workers.
#pragma once

#include "messages/race.hpp"

#include <memory>
#include <utility>

namespace regatta {

struct worker_brief {
  stage_spec stage;
  problem_spec problem;
};
using shared_brief = std::shared_ptr<const worker_brief>;

inline shared_brief brief_of(const spawn_worker& job) {
  return std::make_shared<const worker_brief>(worker_brief{job.stage, job.problem});
}

/// All but what stands in the brief.
inline spawn_worker without_brief(const spawn_worker& x) {
  return {x.race, x.spec, x.start, x.progress, {}, {}, x.rounds, x.accept, x.on_duplicate, x.device, x.limits, x.keep};
}

}  // namespace regatta
