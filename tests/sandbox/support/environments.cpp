// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/environments.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

namespace regatta::sandbox::test {

namespace {

/// CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW, SYS_CHROOT, MKNOD,
/// AUDIT_WRITE, SETFCAP.
constexpr int docker_capabilities[] = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31};

/// Allowed by the profile only together with CAP_SYS_ADMIN or another capability that is not among the 14, or never.
constexpr const char* refused[] = {
    "mount", "umount", "umount2", "pivot_root", "unshare", "setns", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "mount_setattr", "bpf", "perf_event_open", "fanotify_init", "lookup_dcookie", "quotactl",
    "quotactl_fd", "syslog", "acct", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    "reboot", "swapon", "swapoff", "settimeofday", "clock_settime", "iopl", "ioperm", "open_by_handle_at", "vhangup",
    "userfaultfd", "add_key", "keyctl", "request_key", "nfsservctl", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "move_pages", "process_madvise"};

bool load_docker_profile(bool has_landlock) {
  const auto filter = ::seccomp_init(SCMP_ACT_ALLOW);
  bool ok = filter != nullptr;
  const auto refuse = [&](const char* name, int error) {
    const int number = ::seccomp_syscall_resolve_name(name);
    ok = ok && (number < 0 || ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), number, 0) == 0);
  };
  for (const char* name : refused) {
    refuse(name, EPERM);
  }
  refuse("clone3", ENOSYS);
  if (!has_landlock) {
    refuse("landlock_create_ruleset", ENOSYS);
  }
  for (const std::uint64_t flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS,
                                   CLONE_NEWCGROUP}) {
    ok = ok && ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)) == 0;
  }
  // Docker does not set no_new_privs; as root the filter can be loaded without.
  ok = ok && ::seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0) == 0 && ::seccomp_load(filter) == 0;
  ::seccomp_release(filter);
  return ok;
}

bool keep_capabilities(const int* first, const int* last) {
  __user_cap_data_struct sets[2]{};
  constexpr int beyond_any = 64, bits = 32;
  for (int capability = 0; capability < beyond_any; ++capability) {
    if (std::find(first, last, capability) != last) {
      auto& half = sets[capability / bits];
      half.effective |= 1U << (capability % bits);
      half.permitted = half.effective;
    } else if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL) {
      return false;
    }
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capset, &header, sets) == 0;
}

/// A uid that no other test program on this host has at the same time.
bool become_user() {
  constexpr uid_t first = 1'800'000'000;
  const auto uid = first + static_cast<uid_t>(::getpid());
  return ::setgroups(0, nullptr) == 0 && ::setresgid(uid, uid, uid) == 0 && ::setresuid(uid, uid, uid) == 0 &&
         ::prctl(PR_SET_DUMPABLE, 1) == 0;
}

}  // namespace

bool enter(environment where) {
  const auto first = std::begin(docker_capabilities), last = std::end(docker_capabilities);
  if (where != environment::as_it_is && ::geteuid() != 0) {
    return where == environment::ordinary_user;
  }
  switch (where) {
    case environment::as_it_is:
      return true;
    case environment::ordinary_user:
      return become_user();
    case environment::docker_root:
      return load_docker_profile(true) && keep_capabilities(first, last);
    case environment::docker_user:
      return load_docker_profile(true) && keep_capabilities(first, last) && become_user();
    case environment::no_capabilities:
      return load_docker_profile(true) && keep_capabilities(first, first);
    case environment::no_landlock:
      return load_docker_profile(false) && keep_capabilities(first, last);
  }
  return false;
}

}  // namespace regatta::sandbox::test
