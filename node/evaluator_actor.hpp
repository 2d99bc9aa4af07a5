// SPDX-License-Identifier: Apache-2.0
/// \file
/// The EVALUATOR with its sandbox as a parameter: what `spawn_evaluator` (node/evaluator.hpp) builds on, and tests.
#pragma once

#include "node/candidate_launcher.hpp"
#include "node/evaluator.hpp"

#include <caf/actor_system.hpp>

#include <chrono>
#include <memory>

namespace regatta {

struct evaluator_timing {
  std::chrono::milliseconds progress{progress_interval};
  /// `run_book_config::lease_grace`.
  std::chrono::milliseconds lease_grace{10'000};
};

/// `config.runner` is not used. The evaluator ends when its sink does, and kills what still runs.
evaluator_actor spawn_evaluator_on(caf::actor_system& system, evaluator_config config,
                                   std::shared_ptr<candidate_launcher> launcher, evaluator_timing timing = {});

}  // namespace regatta
