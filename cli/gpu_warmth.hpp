// SPDX-License-Identifier: Apache-2.0
/// \file
/// How runs share this host's GPUs, and what of them is kept warm.
#pragma once

#include "cli/embedded.hpp"
#include "cli/session.hpp"

#include <cstdint>

namespace regatta::cli {

/// Slots of each GPU, processes that wait on it, the folder of Triton's helpers. After interpreter and GPUs are known.
void set_gpu_warmth(const session& x, embedded_config& config);

/// Runs of ours besides candidates that the GPUs may need at once.
std::uint32_t gpu_helpers(const embedded_config& config);

}  // namespace regatta::cli
