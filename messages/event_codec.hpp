// SPDX-License-Identifier: Apache-2.0
/// \file
/// Events as outsiders read them: one flat map {schema_version, seq, at_us, race, kind, …the fact's own fields}.
#pragma once

#include "messages/event.hpp"

#include <caf/expected.hpp>

#include <string>
#include <string_view>

namespace regatta {

/// `race.<race id>.<kind>`: the first frame on the event socket.
std::string topic_of(const event& x);

/// MessagePack, flat. Strings are UTF-8 (whatever is not was replaced when the fact was made).
std::string encode_event(const event& x);
/// Fails: `ec::malformed_frame`, also for a kind that this version does not know.
caf::expected<event> decode_event(std::string_view bytes);

/// The same map as one line of JSON, without line end.
std::string event_to_json(const event& x);

/// The way back, for records on disk. Fails: `ec::malformed_frame`.
caf::expected<event> event_from_json(std::string_view text);

/// Any MessagePack value of ours as JSON text; `indent` < 0: one line.
std::string msgpack_to_json(std::string_view bytes, int indent = -1);

}  // namespace regatta
