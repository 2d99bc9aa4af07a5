// SPDX-License-Identifier: Apache-2.0
/// \file
/// Typed interfaces of the actors on the coordinator's side, and of what they and the CLI listen with.
/// A handle of a larger interface converts to each of its parts.
#pragma once

#include "messages/dedup.hpp"
#include "messages/error.hpp"
#include "messages/event.hpp"
#include "messages/llm.hpp"
#include "messages/opaque.hpp"
#include "messages/race.hpp"
#include "messages/race_control.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

namespace regatta {

/// Whoever wants to know: event_publisher, the progress display, `--json`. Must not slow the race down: `event` has
/// no answer.
using event_sink_actor = caf::typed_actor<caf::reacts_to<event>, caf::reacts_to<race_closed>>;

using store_actor = caf::typed_actor<caf::reacts_to<event>, caf::replies_to<commit>::with<committed>>;

using llm_gateway_actor = caf::typed_actor<caf::replies_to<prompt>::with<accepted>,
                                           caf::replies_to<withdraw_prompts>::with<prompts_withdrawn>>;
/// What the gateway speaks to.
using prompt_sink_actor =
    caf::typed_actor<caf::reacts_to<prompt_progress>, caf::reacts_to<prompt_delta>, caf::reacts_to<prompt_ended>>;

using dedup_registry_actor = caf::typed_actor<caf::replies_to<reserve>::with<reservation>, caf::reacts_to<settle>,
                                              caf::reacts_to<release>, caf::reacts_to<forget_race>,
                                              caf::reacts_to<restore_race>>;
/// What the registry speaks to.
using reservation_sink_actor = caf::typed_actor<caf::reacts_to<reservation_resolved>>;

/// All that a node ever says to the coordinator. Crosses the wire.
using uplink_actor =
    caf::typed_actor<caf::replies_to<prompt>::with<accepted>, caf::replies_to<reserve>::with<reservation>,
                     caf::reacts_to<settle>, caf::reacts_to<release>, caf::reacts_to<report>, caf::reacts_to<winner>,
                     caf::reacts_to<worker_ended>, caf::reacts_to<node_quiet>, caf::reacts_to<run_ended>>;

/// One per race; messages reach it through the coordinator, which routes by race id.
using race_actor =
    uplink_actor::extend<caf::reacts_to<prompt_progress>, caf::reacts_to<prompt_delta>, caf::reacts_to<prompt_ended>,
                         caf::reacts_to<reservation_resolved>, caf::reacts_to<stop_race>>;

using coordinator_actor = race_actor::extend<caf::replies_to<start_race>::with<accepted>>;

}  // namespace regatta
