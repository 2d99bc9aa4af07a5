// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run's folder on disk, for level none only: everywhere else it is a tmpfs that goes away by itself.
#pragma once

#include "sandbox/launch_plan.hpp"
#include "sandbox/unique_fd.hpp"

#include <string>

namespace regatta::sandbox {

struct scratch_folder {
  std::string path;
  unique_fd descriptor;
};

/// Below /tmp, mode 0700. Throws setup_error.
scratch_folder make_scratch_folder();

/// Whatever a candidate made of it: folders without rights, and depths that no path can name.
void remove_scratch_folder(const scratch_folder& folder);

/// argv and environment say /run/job; without a mount namespace that is `path`.
void rewrite_run_folder(launch_plan& plan, const std::string& path);

}  // namespace regatta::sandbox
