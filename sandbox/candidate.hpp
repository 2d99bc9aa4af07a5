// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the run's main process does between fork and exec: it takes everything from itself, then becomes the
/// candidate. `confine` stands apart from the exec, so that a process which is forked ready can use it, too.
#pragma once

#include "sandbox/launch_plan.hpp"

#include <linux/filter.h>

#include <vector>

namespace regatta::sandbox {

class warm_parent;

struct candidate_ends {
  int in = -1;
  int out = -1;
  int err = -1;
  int exec_report = -1;  ///< A close-on-exec pipe: end of file says exec'd, an init_record what failed.
};

/// How far a candidate stands behind us where there are more runnable threads than cores: about a tenth of our weight.
/// Measured with 405 spinning processes on two cores: ADR 7.
inline constexpr int candidate_nice = 10;

/// Limits, priority, Landlock, uid, capabilities, seccomp, in the only order that works. Throws setup_error.
void confine(const launch_plan& plan, const std::vector<sock_filter>& filter);

/// … all of it but limits and priority.
void enclose(const launch_plan& plan, const std::vector<sock_filter>& filter);

/// Execs the plan's program; where there is a warm parent it goes on as a copy of that instead.
[[noreturn]] void become_candidate(const launch_plan& plan, const candidate_ends& ends,
                                   const std::vector<sock_filter>& filter, warm_parent* warm);

void reset_signal_handlers();

/// Empties all capability sets of the calling thread but the bounding set.
void drop_capabilities();

}  // namespace regatta::sandbox
