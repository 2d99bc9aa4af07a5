// SPDX-License-Identifier: Apache-2.0
#include "sandbox/seccomp_policy.hpp"

#include "sandbox/pid_fence.hpp"
#include "sandbox/wire.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <type_traits>

namespace regatta::sandbox {

namespace {

const char* const denied[] = {"ptrace",
                              "process_vm_readv",
                              "process_vm_writev",
                              "pidfd_getfd",
                              "kcmp",
                              "process_madvise",
                              "mount",
                              "umount2",
                              "pivot_root",
                              "chroot",
                              "open_tree",
                              "open_tree_attr",
                              "move_mount",
                              "fsopen",
                              "fsconfig",
                              "fsmount",
                              "fspick",
                              "mount_setattr",
                              "setns",
                              "unshare",
                              "bpf",
                              "perf_event_open",
                              "userfaultfd",
                              "keyctl",
                              "add_key",
                              "request_key",
                              "kexec_load",
                              "kexec_file_load",
                              "init_module",
                              "finit_module",
                              "delete_module",
                              "acct",
                              "swapon",
                              "swapoff",
                              "reboot",
                              "settimeofday",
                              "clock_settime",
                              "clock_adjtime",
                              "adjtimex",
                              "quotactl",
                              "quotactl_fd",
                              "iopl",
                              "ioperm",
                              "syslog",
                              "vhangup",
                              "lookup_dcookie",
                              "nfsservctl",
                              "open_by_handle_at",
                              "name_to_handle_at",
                              "fanotify_init",
                              "move_pages",
                              "migrate_pages",
                              "personality"};
/// As if the kernel were older: callers fall back. io_uring would open sockets behind the filter's back, clone3 hides
/// its flags behind a pointer.
const char* const absent[] = {"io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"};

/// Of a 64-bit register where the kernel reads an int.
constexpr std::uint64_t low_word = 0xffffffff;

using context = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, void (*)(scmp_filter_ctx)>;

class rule_adder {
public:
  explicit rule_adder(scmp_filter_ctx filter) : filter_(filter) {}

  /// A name that this architecture or libseccomp does not know is no rule.
  void deny(const char* name, int error) {
    if (const int number = seccomp_syscall_resolve_name(name); number >= 0) {
      note(seccomp_rule_add_array(filter_, errno_action(error), number, 0, nullptr), name);
    }
  }
  void deny_if(const char* name, int error, const scmp_arg_cmp& condition) {
    if (const int number = seccomp_syscall_resolve_name(name); number >= 0) {
      note(seccomp_rule_add_array(filter_, errno_action(error), number, 1, &condition), name);
    }
  }
  const std::string& failed() const { return failed_; }

private:
  static std::uint32_t errno_action(int error) { return SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)); }
  void note(int result, const char* name) {
    if (result < 0 && failed_.empty()) {
      failed_ = std::string{"seccomp rule for "} + name + ": " + std::strerror(-result);
    }
  }

  scmp_filter_ctx filter_;
  std::string failed_;
};

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

scmp_arg_cmp equal(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

void add_argument_rules(rule_adder& rules) {
  // Devices only: os.mkfifo is mknod, too.
  constexpr std::array<std::uint64_t, 2> device_kinds = {S_IFCHR, S_IFBLK};
  for (const auto kind : device_kinds) {
    rules.deny_if("mknod", EPERM, masked(1, S_IFMT, kind));
    rules.deny_if("mknodat", EPERM, masked(2, S_IFMT, kind));
  }
  constexpr std::array<std::uint64_t, 7> namespaces = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                                       CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
  for (const auto flag : namespaces) {
    rules.deny_if("clone", EPERM, masked(0, flag, flag));
  }
  constexpr std::uint64_t tioclinux = 0x541C;
  rules.deny_if("ioctl", EPERM, masked(1, low_word, TIOCSTI));
  rules.deny_if("ioctl", EPERM, masked(1, low_word, tioclinux));
}

/// libcuda binds an AF_UNIX socket, so that family must work; INET and NETLINK see the run's own empty network only.
void add_own_network_rules(rule_adder& rules) {
  constexpr int last_family = 46;
  for (int family = 0; family < last_family; ++family) {
    if (family != AF_UNIX && family != AF_INET && family != AF_INET6 && family != AF_NETLINK) {
      rules.deny_if("socket", EAFNOSUPPORT, equal(0, static_cast<std::uint64_t>(family)));
    }
  }
  rules.deny_if("socket", EAFNOSUPPORT, {0, SCMP_CMP_GE, last_family, 0});
}

/// libcuda makes, binds and listens on one AF_UNIX socket of type SEQPACKET. Datagrams stay out: they need no connect,
/// and the address in sendmsg cannot be looked at.
void add_host_network_rules(rule_adder& rules) {
  constexpr std::uint64_t types = 16, type_mask = types - 1;
  for (const char* call : {"socket", "socketpair"}) {
    rules.deny_if(call, EAFNOSUPPORT, {0, SCMP_CMP_NE, AF_UNIX, 0});
    for (std::uint64_t type = 0; type < types; ++type) {
      if (type != SOCK_STREAM && type != SOCK_SEQPACKET) {
        rules.deny_if(call, EPROTONOSUPPORT, masked(1, type_mask, type));
      }
    }
  }
  rules.deny("connect", EPERM);
}

/// What Landlock leaves to any process of our uid: all that works on a path or a pid without opening it.
void add_same_uid_rules(rule_adder& rules) {
  for (const char* name : {"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime",
                           "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat",
                           "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr",
                           // A folder below /proc is as good as a pidfd, and names a process past the fence.
                           "pidfd_send_signal"}) {
    rules.deny(name, EPERM);
  }
  // Signals by way of descriptors; FIOSETOWN, SIOCSPGRP.
  for (const std::uint64_t command : {std::uint64_t{F_SETOWN}, std::uint64_t{F_SETOWN_EX}}) {
    rules.deny_if("fcntl", EPERM, masked(1, low_word, command));
  }
  for (const std::uint64_t request : {0x8901U, 0x8902U}) {
    rules.deny_if("ioctl", EPERM, masked(1, low_word, request));
  }
  // All processes of the user at once.
  constexpr std::uint64_t ioprio_who_user = 3;
  rules.deny_if("setpriority", EPERM, masked(0, low_word, PRIO_USER));
  rules.deny_if("ioprio_set", EPERM, masked(0, low_word, ioprio_who_user));
}

/// As an ordinary user, pid 1 of a run has the candidate's uid: one that ends it by a CPU limit would be told as ours.
void add_own_pid_1_rules(rule_adder& rules) {
  for (const char* name :
       {"prlimit64", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr"}) {
    rules.deny_if(name, EPERM, masked(0, low_word, 1));
  }
  for (const char* name : {"setpriority", "ioprio_set"}) {
    rules.deny_if(name, EPERM, masked(1, low_word, 1));
  }
}

std::vector<sock_filter> finish(scmp_filter_ctx filter, const rule_adder& rules, std::string& error) {
  error = rules.failed();
  const auto file = make_memory_file("");
  if (!error.empty() || !file || seccomp_export_bpf(filter, file.get()) != 0) {
    error = error.empty() ? "seccomp_export_bpf failed" : error;
    return {};
  }
  return program_of(read_memory_file(file.get()));
}

void add_common_rules(rule_adder& rules) {
  for (const char* name : denied) {
    rules.deny(name, EPERM);
  }
  for (const char* name : absent) {
    rules.deny(name, ENOSYS);
  }
  add_argument_rules(rules);
}

}  // namespace

std::vector<sock_filter> build_seccomp_filter(std::string& error) {
  const context filter{seccomp_init(SCMP_ACT_ALLOW), seccomp_release};
  if (!filter) {
    error = "seccomp_init failed";
    return {};
  }
  rule_adder rules{filter.get()};
  add_common_rules(rules);
  add_own_network_rules(rules);
  add_own_pid_1_rules(rules);
  return finish(filter.get(), rules, error);
}

std::vector<sock_filter> build_host_filter(bool has_own_uid, int landlock_abi, std::string& error) {
  const context filter{seccomp_init(SCMP_ACT_ALLOW), seccomp_release};
  if (!filter) {
    error = "seccomp_init failed";
    return {};
  }
  rule_adder rules{filter.get()};
  add_common_rules(rules);
  add_host_network_rules(rules);
  for (const char* name : {"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd",
                           "msgrcv", "msgctl", "mq_open", "mq_unlink", "inotify_add_watch"}) {
    rules.deny(name, EPERM);
  }
  constexpr int abi_with_truncate = 3;
  if (landlock_abi < abi_with_truncate) {
    rules.deny("truncate", EPERM);
  }
  if (!has_own_uid) {
    add_same_uid_rules(rules);
  }
  return finish(filter.get(), rules, error);
}

std::string bytes_of(const std::vector<sock_filter>& program) {
  return {reinterpret_cast<const char*>(program.data()), program.size() * sizeof(sock_filter)};
}

}  // namespace regatta::sandbox
