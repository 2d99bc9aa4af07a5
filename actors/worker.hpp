// SPDX-License-Identifier: Apache-2.0
/// \file
/// WORKER: one competitor of a race. A shell over `worker_rules`.
///
/// Many per node, made by its node agent and linked to it. Talks to the uplink, the node agent (which holds its runs)
/// and the source checker; hears of outcomes through the node agent. Ends itself after `worker_ended`. Never blocks.
#pragma once

#include "actors/worker_brief.hpp"
#include "messages/coordinator_handles.hpp"
#include "messages/node_handles.hpp"
#include "messages/race.hpp"

#include <caf/local_actor.hpp>

namespace regatta {

/// Who takes a worker's `run`: the node agent, in front of its evaluator.
using run_taker_actor = caf::typed_actor<caf::replies_to<run>::with<accepted>>;

struct worker_config {
  worker_order order;
  uplink_actor uplink;
  run_taker_actor runs;
  source_checker_actor checker;
};

/// Linked to `parent`: the worker dies with it.
worker_actor spawn_worker_under(caf::local_actor& parent, worker_config config);

}  // namespace regatta
