// SPDX-License-Identifier: Apache-2.0
/// \file
/// From what the sandbox saw to the record of an evaluation.
#pragma once

#include "messages/evaluation.hpp"
#include "node/candidate_launcher.hpp"
#include "node/evaluator.hpp"
#include "node/run_book.hpp"
#include "sandbox/run_spec.hpp"

#include <string>
#include <string_view>

namespace regatta {

/// `cuda-sm_90` with a GPU; without one `triton-interpreter` if the candidate imports Triton, else `cpu`. A verdict
/// of the interpreter never stands for a GPU's.
std::string engine_of(const gpu* device, std::string_view code);

/// True if a line of `code` is an import statement that names the package triton.
bool imports_triton(std::string_view code);

/// The reason why a failed run on a GPU is the host's fault and not the candidate's; empty if it is not. Read from
/// torch's messages: the driver could not be reached through the device nodes that the run was given.
std::string gpu_host_failure(const sandbox::run_result& result);

/// What of this end may be the doing of other runs on the same GPU: they took its time or its memory. Empty if nothing is.
std::string doubt_beside_others(const judged_end& end);

/// `device` is null for a run on a CPU slot.
evaluation make_evaluation(const run_entry& entry, const judged_end& end, const evaluator_config& config,
                           const gpu* device, run_entry::time_point now);

/// Of a run that never had a slot, as its race was cancelled.
evaluation make_cancelled_evaluation(const run_entry& entry, const evaluator_config& config, run_entry::time_point now);

}  // namespace regatta
