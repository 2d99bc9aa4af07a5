// SPDX-License-Identifier: Apache-2.0
/// \file
/// NVIDIA's management library, found at run time: Regatta is built without it and runs without it.
#pragma once

#include "node/device_layer.hpp"

#include <chrono>
#include <string>

namespace regatta {

/// NVML calls have been seen to hang for minutes on a sick GPU. A good answer takes 20 to 300 ms. Judgement: the 2 s.
inline constexpr std::chrono::milliseconds nvml_timeout{2'000};

/// Asks in a thread of its own; a thread that hangs is left behind.
nvml_answer ask_nvml(const std::string& library, std::chrono::milliseconds timeout);

}  // namespace regatta
