// SPDX-License-Identifier: Apache-2.0
/// \file
/// System calls that glibc 2.35 does not wrap, and constants newer than the headers of the oldest release that we
/// build on. Each returns what the kernel says: -1 and errno on failure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace regatta::sandbox::linux_api {

// Mounts (kernel 5.2; mount_setattr 5.12). <sys/mount.h> and <linux/mount.h> clash in glibc 2.36: hence own names.
inline constexpr unsigned long ms_rdonly = 1, ms_nosuid = 2, ms_nodev = 4, ms_noexec = 8, ms_remount = 32,
                               ms_bind = 4096, ms_rec = 16384, ms_private = 1UL << 18;
inline constexpr std::uint64_t attr_rdonly = 1, attr_nosuid = 2, attr_nodev = 4;

int mount(const char* source, const char* target, const char* type, unsigned long flags);
/// Lazily (MNT_DETACH).
int unmount(const char* target);
int pivot_root(const char* new_root, const char* put_old);
/// A detached copy of the mount tree at `path`, submounts included.
int clone_tree(const char* path);
int set_tree_attributes(int tree, std::uint64_t attributes);
int attach_tree(int tree, int folder, const char* target);
/// A detached tmpfs. `uid` owns it; 0 leaves the default. -1 and errno on failure.
int make_tmpfs(std::uint64_t bytes, const char* mode, std::uint64_t attributes, std::uint32_t uid);

/// Beneath `folder`, no link on any component, magic links included; O_NOFOLLOW guards only the last one.
int open_beneath(int folder, const char* path, int flags);

int close_range(unsigned first, unsigned last);
int pidfd_open(pid_t pid);
int pidfd_send_signal(int pidfd, int signal);

/// In the child: 0. `cgroup` ≥ 0 needs clone3 (kernel 5.7). Docker's default seccomp profile answers ENOSYS to clone3,
/// as its flags cannot be filtered; plain clone knows CLONE_PIDFD, too, but no cgroup (`joined_cgroup` says so).
pid_t clone_process(std::uint64_t flags, int cgroup, int& pidfd, bool& joined_cgroup);

/// 0 if the kernel has no Landlock.
int landlock_abi();
int landlock_create(std::uint64_t filesystem, std::uint64_t network, std::uint64_t scoped, int abi);
int landlock_allow(int ruleset, std::uint64_t access, int folder);
int landlock_restrict(int ruleset);

/// Installs the program for the calling thread, children included. `instructions` points at sock_filter.
int install_seccomp(const void* instructions, unsigned short count);

/// As exec wants them. Valid as long as the texts.
std::vector<char*> pointers_to(const std::vector<std::string>& texts);

/// True if the whole text was written. errno says why not.
bool write_file(const std::string& path, const std::string& text);

/// Empty if it cannot be read. At most 1 MiB.
std::string read_file(const std::string& path);

}  // namespace regatta::sandbox::linux_api
