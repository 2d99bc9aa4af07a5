// SPDX-License-Identifier: Apache-2.0
/// \file
/// EVENT PUBLISHER: events on a ZeroMQ PUB socket, as [topic][seq as decimal text][MessagePack map].
///
/// One per coordinator. Owns the socket. A slow or absent reader loses frames and sees it by `seq`; nobody waits.
#pragma once

#include "messages/coordinator_handles.hpp"

#include <caf/actor_system.hpp>
#include <caf/expected.hpp>

#include <string>

namespace regatta {

struct event_publisher_config {
  /// `ipc:///…/events.sock` or `tcp://127.0.0.1:PORT` (0: any).
  std::string endpoint;
  bool makes_folder = false;  ///< Of an ipc socket, mode 0700; else it must be there.
};

struct published_at {
  event_sink_actor sink;
  std::string endpoint;  ///< As bound: with the real port.
};

/// Binds in the calling thread, so that a bad endpoint is an error at start: `ec::io_failed`.
caf::expected<published_at> spawn_event_publisher(caf::actor_system& system, const event_publisher_config& config);

}  // namespace regatta
