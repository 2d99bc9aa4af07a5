// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiles a candidate's Triton kernels for GPUs that this host does not have: the interpreter accepts code that the
/// compiler refuses (docs/judge.md, "Engines").
#pragma once

#include "node/candidate_launcher.hpp"
#include "node/judge_specs.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// Launches that the interpreter saw, as the verdict has them; empty: there is nothing to compile.
std::string launches_in(const judged_end& judged);

/// In a process of its own: whether Triton interprets or compiles is settled at its import.
sandbox::run_spec compile_spec(const judge_kit& kit, const judge_place& place, const std::string& candidate,
                               const std::string& launches, const std::vector<std::string>& architectures);

/// What was found is added to the verdict's record as `compiled`; a refusal makes it `compile_failed`. A compiler that
/// itself fails says nothing about the candidate.
judged_end with_compiled(judged_end judged, const sandbox::run_result& compiler);

}  // namespace regatta
