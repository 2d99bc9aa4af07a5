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

/// Reads `<folder>/<stage>/{system.md,body.md,variants.md,stage.toml}` … the exact files are documented in
/// prompts/README.md. Fails: `ec::not_found` or `ec::invalid_config`, naming file, got and allowed.
caf::expected<stage_spec> load_stage(const std::string& folder, std::string_view stage);

/// The user message of one round: variant, body, attempt number, error context and failing code if any, problem.
/// Problem text and error context are put in as they are, never expanded.
std::string render_prompt(const stage_spec& stage, std::uint32_t variant, const worker_progress& progress,
                          const problem_spec& problem);

}  // namespace regatta
