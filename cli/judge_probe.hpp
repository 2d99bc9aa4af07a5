// SPDX-License-Identifier: Apache-2.0
/// \file
/// Can the judge use this problem? Asked before any model is: replies for a problem that cannot be judged, or whose
/// oracle takes zeros for an answer, would be paid for nothing.
#pragma once

#include "node/judge_specs.hpp"
#include "node/judging.hpp"
#include "sandbox/runner.hpp"

#include <caf/error.hpp>

#include <memory>
#include <string>

namespace regatta::cli {

/// Blocks for as long as the problem takes (torch's import dominates), at most `place.limits.wall`.
judged_end probe_problem(const std::shared_ptr<sandbox::runner>& runner, const judge_place& place,
                         const judge_question& question, const std::string& problem);

/// What the look found that concerns every candidate: `needs_affine`, `is_weak`.
judge_terms terms_found(judge_terms asked, const judged_end& probed);

/// What passes for an answer to a problem whose oracle is weak. One line.
std::string weak_text(const judged_end& probed, const std::string& path);

/// Why this problem is not to be raced (`ec::invalid_config`; `ec::weak_oracle` if those are refused;
/// `ec::sandbox_refused` where the sandbox is to blame); nothing if it is. `path` names the problem in the text.
caf::error why_not_judgeable(const judged_end& probed, const std::string& path, bool refuses_weak);

}  // namespace regatta::cli
