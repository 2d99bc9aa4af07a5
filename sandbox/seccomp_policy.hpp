// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which system calls a candidate may not make. A deny list over allow-all, since CUDA and torch need a wide set and
/// namespaces, Landlock and missing capabilities hold most of it; what is denied here is what the kernel would
/// otherwise offer to any user: other processes' memory, new namespaces and mounts, io_uring, rarely-used surfaces.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

namespace regatta::sandbox {

/// For runs with namespaces of their own. Built once by the forker, inherited by all runs. Empty and `error` filled if
/// libseccomp refuses a rule. i386 and x32 calls end the process (libseccomp's default).
std::vector<sock_filter> build_seccomp_filter(std::string& error);

/// For runs that see the host: nothing connects to anything, as Landlock lets connect() to path sockets through and
/// there is no network namespace; no IPC of the host; and what Landlock does not cover. `has_own_uid`: else also what
/// any process of our uid may do to our files and processes without opening them.
std::vector<sock_filter> build_host_filter(bool has_own_uid, int landlock_abi, std::string& error);

/// As it goes into a launch_plan, and back.
std::string bytes_of(const std::vector<sock_filter>& program);

}  // namespace regatta::sandbox
