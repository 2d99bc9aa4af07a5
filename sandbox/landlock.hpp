// SPDX-License-Identifier: Apache-2.0
/// \file
/// The second wall around files, inside the run's own root: read everywhere, write in the run's three folders.
#pragma once

#include "sandbox/launch_plan.hpp"

namespace regatta::sandbox {

/// For the calling process and all its children. Nothing happens on a kernel without Landlock. Throws setup_error.
void restrict_files(const launch_plan& plan);

}  // namespace regatta::sandbox
