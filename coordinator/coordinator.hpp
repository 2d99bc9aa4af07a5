// SPDX-License-Identifier: Apache-2.0
/// \file
/// COORDINATOR: starts races, routes by race id, watches over everything on its side.
///
/// One per process that decides. Spawns and monitors: store's and gateway's handles are given; node_session (one per
/// node), dedup_registry, race (one per race). Never blocks.
#pragma once

#include "messages/coordinator_handles.hpp"
#include "messages/node_handles.hpp"

#include <caf/actor_system.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace regatta {

/// How a node is reached. In embedded mode `connect` spawns a node agent in this process; in tests it may put a
/// relay between; in a cluster it will be a proxy.
struct node_entry {
  node_id id;
  std::function<node_actor(caf::actor_system&, uplink_actor)> connect;
};

struct coordinator_config {
  store_actor store;
  std::vector<event_sink_actor> sinks;
  /// Makes the gateway once the coordinator, its sink, exists.
  std::function<llm_gateway_actor(caf::actor_system&, prompt_sink_actor)> make_gateway;
  std::vector<node_entry> nodes;
  /// UTC µs for the records; tests give a fixed one. Limits never use it.
  std::function<std::int64_t()> wall_clock_us = [] {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()};
  };
};

/// The caller ends it with an exit message: every race is then stopped, nodes and gateway end, and only then does
/// it end itself (bounded by `shutdown_timeout`).
coordinator_actor spawn_coordinator(caf::actor_system& system, coordinator_config config);

}  // namespace regatta
