// SPDX-License-Identifier: Apache-2.0
/// \file
/// Without a pid namespace a run shares numbers with the host's processes, and at L1 its uid, too. Landlock keeps signals
/// in from version 6 on, and nothing keeps in what else works by number: limits, priority, CPUs of other processes.
/// A filter cannot know who belongs to the run. But numbers grow: who was there before the run has a lower one.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace regatta::sandbox {

/// A seccomp program that refuses (EPERM) calls by pid, thread or group up to `last` (the run's own first process, which
/// watches over it), and those that mean everybody. 0, ourselves, stays. What came later on the host has a higher number
/// and is not fenced off by this; once the numbers have wrapped, a run may find itself unable to signal its own.
std::vector<sock_filter> pid_fence(pid_t last);

/// From a launch_plan's bytes.
std::vector<sock_filter> program_of(std::string_view bytes);

}  // namespace regatta::sandbox
