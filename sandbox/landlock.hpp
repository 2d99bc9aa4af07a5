// SPDX-License-Identifier: Apache-2.0
/// \file
/// The second wall around files inside the run's own root: read everywhere, write in the run's three folders. Without
/// such a root it is the first one: read what the run may read and nothing else, write in the current folder.
#pragma once

#include "sandbox/launch_plan.hpp"

namespace regatta::sandbox {

/// For the calling process and all its children. Nothing happens on a kernel without Landlock. Throws setup_error.
/// What no version of Landlock covers (connect to sockets, changes of mode, owner and times) is the filter's.
void restrict_files(const launch_plan& plan);

}  // namespace regatta::sandbox
