// SPDX-License-Identifier: Apache-2.0
/// \file
/// LLM GATEWAY: every call to a model leaves from here, once, within its limits.
///
/// One per coordinator. Talks to its `sink` (the coordinator, which routes to races). Owns the HTTP thread, the
/// command runner and the recordings. Never blocks.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "messages/coordinator_handles.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace regatta {

struct llm_gateway_config {
  std::vector<provider_config> providers;
  prompt_sink_actor sink;
  std::uint64_t seed = 0;  ///< Of the back-off's jitter.
};

struct llm_gateway_state;

llm_gateway_actor::behavior_type llm_gateway(llm_gateway_actor::stateful_pointer<llm_gateway_state> self,
                                             llm_gateway_config config);

/// Spawns it with whatever threads it needs. The caller ends it with an exit message.
llm_gateway_actor spawn_llm_gateway(caf::actor_system& system, llm_gateway_config config);

}  // namespace regatta
