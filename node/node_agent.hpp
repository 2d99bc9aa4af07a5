// SPDX-License-Identifier: Apache-2.0
/// \file
/// NODE AGENT: one per host. Starts and stops workers, routes messages to them, speaks for its evaluator.
#pragma once

#include "messages/coordinator_handles.hpp"
#include "messages/node_handles.hpp"

#include <caf/actor_system.hpp>

#include <functional>
#include <string>

namespace regatta {

struct node_agent_config {
  node_id id;
  uplink_actor uplink;
  /// Made by the caller once the node agent, its sink, exists (tests give a scripted one).
  std::function<evaluator_actor(caf::actor_system&, run_sink_actor)> make_evaluator;
  source_checker_actor checker;
};

node_actor spawn_node_agent(caf::actor_system& system, node_agent_config config);

}  // namespace regatta
