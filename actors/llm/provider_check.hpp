// SPDX-License-Identifier: Apache-2.0
/// \file
/// What can be known to be wrong with a provider before the first prompt.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "actors/llm/recording_codec.hpp"
#include "messages/limits.hpp"

#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <string>

namespace regatta {

/// Of a recording: a night's sweep of replies; read whole. Judgement.
inline constexpr byte_count recording_bytes = 256 * MiB;

/// Fails: `ec::io_failed` (not readable, larger than 256 MiB), `ec::invalid_config` (see read_recording).
caf::expected<recording> load_recording(const std::string& path);

/// No error, or `ec::invalid_config` or `ec::io_failed` naming provider, key, got and allowed. Reads a `replay`
/// provider's recording; asks nobody on the network.
caf::error check_provider(const provider_config& provider);

}  // namespace regatta
