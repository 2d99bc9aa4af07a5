// SPDX-License-Identifier: Apache-2.0
/// \file
/// RACE: the one actor that names the winner of its race. A shell over `race_rules`.
///
/// One per race, made by the coordinator and linked to it. Talks to node sessions, gateway, registry, store and
/// sinks; ends itself after `race_closed`. Never blocks.
#pragma once

#include "coordinator/race_rules.hpp"
#include "messages/coordinator_handles.hpp"
#include "messages/node_handles.hpp"

#include <caf/local_actor.hpp>

#include <map>
#include <vector>

namespace regatta {

struct race_config {
  race_rules_config rules;
  std::map<node_id, node_actor> nodes;
  llm_gateway_actor gateway;
  dedup_registry_actor registry;
  store_actor store;
  std::vector<event_sink_actor> sinks;
};

/// Linked to `parent`: the race goes down with it. A normal exit means that `race_closed` was sent.
race_actor spawn_race_under(caf::local_actor& parent, race_config config);

}  // namespace regatta
