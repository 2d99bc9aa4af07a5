// SPDX-License-Identifier: Apache-2.0
/// \file
/// PROMPTS: a stage's wording from files, and the rendering of one prompt. Pure but for reading the files.
#pragma once

#include "messages/error.hpp"
#include "messages/race.hpp"
#include "messages/stage.hpp"

#include <caf/expected.hpp>

#include <string>
#include <string_view>

namespace regatta {

/// Reads `<folder>/<stage>/{system.md,body.md,variants.md,must_define.txt}`; prompts/README.md documents them.
/// Fails: `ec::not_found` (no such stage or file) or `ec::invalid_config`, naming file, got and allowed.
caf::expected<stage_spec> load_stage(const std::string& folder, std::string_view stage);

/// The user message of one round: variant, body, attempt number, error context and failing code if any, problem.
/// Problem text, error context and code are put in as they are, never expanded. `variant` counts from 0, modulo the
/// number of variants.
std::string render_prompt(const stage_spec& stage, std::uint32_t variant, const worker_progress& progress,
                          const problem_spec& problem);

}  // namespace regatta
