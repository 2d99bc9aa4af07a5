// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where events may be published: sockets that only this user (ipc) or this host (tcp) can reach, as nothing about a
/// ZeroMQ PUB socket asks its readers who they are.
#pragma once

#include "messages/error.hpp"

#include <caf/expected.hpp>

#include <string>
#include <string_view>

namespace regatta {

/// Checks `text` and makes ready what `bind` needs: no stale socket in its place and, if `makes_folder`, the folder of
/// an ipc socket (mode 0700); else it must be there. Answers the endpoint as ZeroMQ wants it (`tcp://127.0.0.1:0` becomes `tcp://127.0.0.1:*`). Fails:
/// `ec::invalid_config` (form, host, length of the path), `ec::io_failed` (folder, somebody else listens there).
caf::expected<std::string> prepare_event_endpoint(const std::string& text, bool makes_folder = false);

/// The socket file of an `ipc://` endpoint; empty for others.
std::string socket_path(std::string_view endpoint);

}  // namespace regatta
