// SPDX-License-Identifier: Apache-2.0
/// \file
/// What this process may do where it would have been started elsewhere. Emulated, as far as it decides the sandbox's level:
/// Docker's default seccomp profile by a filter that refuses what that profile (moby's default.json) refuses without
/// CAP_SYS_ADMIN, and Docker's 14 capabilities. For good: there is no way back.
#pragma once

#include <string>
#include <vector>

namespace regatta::sandbox::test {

enum class environment {
  as_it_is,
  ordinary_user,
  docker_root,      ///< `docker run`
  docker_user,      ///< `docker run --user 1000`, with a uid that nobody else has.
  no_capabilities,  ///< Root by number only, seccomp profile as Docker's.
  no_landlock       ///< docker_root on a kernel without it.
};

/// False if it cannot be had (not started as root).
bool enter(environment where);

}  // namespace regatta::sandbox::test
