// SPDX-License-Identifier: Apache-2.0
#include "sandbox/linux_api.hpp"

#include "sandbox/unique_fd.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace regatta::sandbox::linux_api {

namespace {

constexpr unsigned tree_clone = 1, at_recursive = 0x8000, at_empty_path = 0x1000, move_from_empty = 4, cloexec = 1;
constexpr unsigned config_string = 1, config_create = 6;
constexpr std::uint64_t resolve_no_magiclinks = 2, resolve_no_symlinks = 4, resolve_beneath = 8;
// The same numbers on every architecture since 5.x.
constexpr long nr_landlock_create = 444, nr_landlock_add = 445, nr_landlock_restrict = 446, nr_close_range = 436,
               nr_openat2 = 437, nr_mount_setattr = 442;
constexpr int landlock_rule_path_beneath = 1;

struct landlock_ruleset {
  std::uint64_t filesystem, network, scoped;
};
struct [[gnu::packed]] landlock_path {
  std::uint64_t access;
  std::int32_t folder;
};

int as_int(long result) {
  return static_cast<int>(result);
}

int set_option(int context, const char* key, const std::string& value) {
  return as_int(::syscall(SYS_fsconfig, context, config_string, key, value.c_str(), 0));
}

}  // namespace

int mount(const char* source, const char* target, const char* type, unsigned long flags) {
  return as_int(::syscall(SYS_mount, source, target, type, flags, nullptr));
}

int unmount(const char* target) {
  constexpr int detach = 2;
  return as_int(::syscall(SYS_umount2, target, detach));
}

int pivot_root(const char* new_root, const char* put_old) {
  return as_int(::syscall(SYS_pivot_root, new_root, put_old));
}

int clone_tree(const char* path) {
  return as_int(::syscall(SYS_open_tree, AT_FDCWD, path, tree_clone | at_recursive | static_cast<unsigned>(O_CLOEXEC)));
}

int set_tree_attributes(int tree, std::uint64_t attributes) {
  struct {
    std::uint64_t set, clear, propagation, user_namespace;
  } request{attributes, 0, 0, 0};
  return as_int(::syscall(nr_mount_setattr, tree, "", at_recursive | at_empty_path, &request, sizeof request));
}

int attach_tree(int tree, int folder, const char* target) {
  return as_int(::syscall(SYS_move_mount, tree, "", folder, target, move_from_empty));
}

int make_tmpfs(std::uint64_t bytes, const char* mode, std::uint64_t attributes, std::uint32_t uid) {
  const unique_fd context{as_int(::syscall(SYS_fsopen, "tmpfs", cloexec))};
  if (!context) {
    return -1;
  }
  // 65,536 files: a Triton cache has hundreds; each inode costs kernel memory outside the size limit (about 1 KiB).
  const bool ok = set_option(context.get(), "size", std::to_string(bytes)) == 0 &&
                  set_option(context.get(), "nr_inodes", "65536") == 0 &&
                  set_option(context.get(), "mode", mode) == 0 &&
                  (uid == 0 || (set_option(context.get(), "uid", std::to_string(uid)) == 0 &&
                                set_option(context.get(), "gid", std::to_string(uid)) == 0)) &&
                  ::syscall(SYS_fsconfig, context.get(), config_create, nullptr, nullptr, 0) == 0;
  return ok ? as_int(::syscall(SYS_fsmount, context.get(), cloexec, attributes)) : -1;
}

int open_beneath(int folder, const char* path, int flags) {
  struct {
    std::uint64_t flags, mode, resolve;
  } how{static_cast<std::uint64_t>(flags), 0, resolve_beneath | resolve_no_symlinks | resolve_no_magiclinks};
  return as_int(::syscall(nr_openat2, folder, path, &how, sizeof how));
}

int close_range(unsigned first, unsigned last) {
  return as_int(::syscall(nr_close_range, first, last, 0U));
}

int pidfd_open(pid_t pid) {
  return as_int(::syscall(SYS_pidfd_open, pid, 0));
}

int pidfd_send_signal(int pidfd, int signal) {
  return as_int(::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

pid_t clone_process(std::uint64_t flags, int cgroup, int& pidfd, bool& joined_cgroup) {
  clone_args args{};
  args.flags = flags | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  joined_cgroup = cgroup >= 0;
  long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0 && errno == ENOSYS) {
    joined_cgroup = false;
    pid = ::syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, 0);
  }
  return static_cast<pid_t>(pid);
}

int landlock_abi() {
  constexpr unsigned version = 1;
  return std::max(0, as_int(::syscall(nr_landlock_create, nullptr, 0, version)));
}

int landlock_create(std::uint64_t filesystem, std::uint64_t network, std::uint64_t scoped, int abi) {
  const landlock_ruleset rules{filesystem, network, scoped};
  // An older kernel refuses a structure that is longer than the one it knows.
  const std::size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  return as_int(::syscall(nr_landlock_create, &rules, size, 0));
}

int landlock_allow(int ruleset, std::uint64_t access, int folder) {
  const landlock_path rule{access, folder};
  return as_int(::syscall(nr_landlock_add, ruleset, landlock_rule_path_beneath, &rule, 0));
}

int landlock_restrict(int ruleset) {
  return as_int(::syscall(nr_landlock_restrict, ruleset, 0));
}

int install_seccomp(const void* instructions, unsigned short count) {
  const sock_fprog program{count, static_cast<sock_filter*>(const_cast<void*>(instructions))};
  return as_int(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const auto& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

bool write_file(const std::string& path, const std::string& text) {
  const unique_fd file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string read_file(const std::string& path) {
  constexpr std::size_t most = std::size_t{1024} * 1024;
  std::string text;
  const unique_fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  char piece[4096];
  while (file && text.size() < most) {
    const auto size = ::read(file.get(), piece, sizeof piece);
    if (size <= 0) {
      break;
    }
    text.append(piece, static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace regatta::sandbox::linux_api
