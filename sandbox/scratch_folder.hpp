// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run's folder on disk, where there is no mount namespace: everywhere else it is a tmpfs that goes away by itself.
#pragma once

#include "sandbox/launch_plan.hpp"
#include "sandbox/unique_fd.hpp"

#include <string>

namespace regatta::sandbox {

struct scratch_folder {
  std::string path;
  unique_fd descriptor;
};

/// Below /tmp, /var/tmp or /dev/shm, the first that can be written; mode 0700. Throws setup_error.
scratch_folder make_scratch_folder();

/// False if there is more in it than `most` bytes on disk, or more files or deeper folders than anybody needs. Safe while
/// a candidate changes it: by descriptor, no link is followed. Files that have no name any more are not seen.
bool fits_in(const scratch_folder& folder, byte_count most);

/// Whatever a candidate made of it: folders without rights, and depths that no path can name.
void remove_scratch_folder(const scratch_folder& folder);

/// argv and environment say /run/job; without a mount namespace that is `path`.
void rewrite_run_folder(launch_plan& plan, const std::string& path);

}  // namespace regatta::sandbox
