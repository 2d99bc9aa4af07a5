// SPDX-License-Identifier: Apache-2.0
/// \file
/// NODE SESSION: one node as the coordinator sees it. Both directions pass through it, so that liveness, fencing and
/// a remote proxy have one place to live in.
///
/// One per node, made by the coordinator and linked to it. Links its node agent: ends when that ends, and the other
/// way round. Never blocks.
#pragma once

#include "coordinator/coordinator.hpp"
#include "messages/coordinator_handles.hpp"
#include "messages/node_handles.hpp"

#include <caf/local_actor.hpp>

namespace regatta {

using node_session_actor = uplink_actor::extend_with<node_actor>;

/// On an exit message it ends its node first, and waits for it as long as `shutdown_timeout`.
node_session_actor spawn_node_session_under(caf::local_actor& parent, node_entry entry, uplink_actor coordinator);

}  // namespace regatta
