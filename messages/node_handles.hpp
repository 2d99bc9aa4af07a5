// SPDX-License-Identifier: Apache-2.0
/// \file
/// Typed interfaces of the actors on a node.
#pragma once

#include "messages/dedup.hpp"
#include "messages/error.hpp"
#include "messages/evaluation.hpp"
#include "messages/llm.hpp"
#include "messages/opaque.hpp"
#include "messages/race.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

namespace regatta {

/// All that the coordinator ever says to a node. Crosses the wire; messages for one worker are routed by the node
/// agent. A `run` that comes this way is the timing of a winner, after its race was cancelled and quiet there; its
/// `run_ended` goes back to the race.
using node_actor =
    caf::typed_actor<caf::replies_to<spawn_worker>::with<accepted>, caf::replies_to<cancel>::with<cancelled>,
                     caf::replies_to<run>::with<accepted>, caf::reacts_to<prompt_progress>, caf::reacts_to<prompt_ended>,
                     caf::reacts_to<reservation_resolved>>;

/// What the evaluator speaks to.
using run_sink_actor = caf::typed_actor<caf::reacts_to<run_progress>, caf::reacts_to<run_ended>>;

using node_agent_actor = node_actor::extend<caf::reacts_to<run_progress>, caf::reacts_to<run_ended>>;

using worker_actor = caf::typed_actor<caf::reacts_to<prompt_progress>, caf::reacts_to<prompt_ended>,
                                      caf::reacts_to<reservation_resolved>, caf::reacts_to<run_progress>,
                                      caf::reacts_to<run_ended>>;

using evaluator_actor = caf::typed_actor<caf::replies_to<run>::with<accepted>,
                                         caf::replies_to<cancel_runs>::with<runs_signalled>>;

using source_checker_actor = caf::typed_actor<caf::replies_to<check_source>::with<source_report>>;

}  // namespace regatta
