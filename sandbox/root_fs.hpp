// SPDX-License-Identifier: Apache-2.0
/// \file
/// The run's own root: a small read-only tmpfs with binds of what it may read, three tmpfs of its own (/run/job, /tmp,
/// /dev/shm), a fresh procfs and the listed device nodes. For pid 1, in a new mount namespace.
#pragma once

#include "sandbox/launch_plan.hpp"
#include "sandbox/unique_fd.hpp"

namespace regatta::sandbox {

/// Builds the root and makes it ours. Answers the job folder's descriptor, which stays valid outside the namespace
/// as long as anybody holds it: artifacts come out of it, and closing it deletes it. Throws setup_error.
unique_fd enter_new_root(const launch_plan& plan);

/// The run's files, mode 0444, and the folders that `candidate_environment` names. Throws setup_error.
void fill_job_folder(int job, const launch_plan& plan);

}  // namespace regatta::sandbox
