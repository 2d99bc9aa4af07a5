// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies what a run left out of its folder. The tree is dead by then, so nothing moves; still everything in there was
/// put by a stranger: no link is followed, nothing blocks, nothing is larger than said.
#pragma once

#include "messages/limits.hpp"
#include "sandbox/run_spec.hpp"

#include <string>
#include <vector>

namespace regatta::sandbox {

/// One per name asked for, in order. `folder` < 0: all are absent.
std::vector<kept_artifact> copy_artifacts(int folder, const std::vector<std::string>& names,
                                          byte_count most = artifact_file_bytes);

}  // namespace regatta::sandbox
