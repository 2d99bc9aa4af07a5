// SPDX-License-Identifier: Apache-2.0
/// \file
/// Seeds and ids of questions from the kernel, drawn after the candidate is fixed.
#pragma once

#include <cstdint>

namespace regatta::judge {

/// 53 bits, so that every reader of JSON has it exactly; never 0. Throws std::runtime_error.
std::uint64_t draw_seed();

}  // namespace regatta::judge
