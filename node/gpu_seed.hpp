// SPDX-License-Identifier: Apache-2.0
/// \file
/// GPU SEED: Triton's C helpers, built once per interpreter, torch, Triton and driver by a sandboxed run of our own, kept
/// in a folder that only this writes and that runs see read-only (docs/adr/0010).
#pragma once

#include "node/evaluator.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/run_spec.hpp"
#include "sandbox/runner.hpp"

#include <map>
#include <string>
#include <string_view>

namespace regatta {

bool has_kernel_helpers(const std::string& folder);

/// Runs sandbox/python/gpu_seed.py on this GPU.
sandbox::run_spec seeding_spec(const gpu& device, const sandbox::interpreter& python,
                               const std::map<std::string, std::string>& host_environment, const std::string& program);

/// Unpacks what a seeding run left into `folder`, all or nothing. Empty, or why not.
std::string store_kernel_helpers(std::string_view packed, const std::string& folder);

/// Starts the seeding run if it is needed, and returns. Whatever goes wrong is only slower, and tried again next time.
void seed_kernel_helpers(sandbox::runner& runner, const gpu& device, const sandbox::interpreter& python,
                         const std::map<std::string, std::string>& host_environment);

}  // namespace regatta
