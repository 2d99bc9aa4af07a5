// SPDX-License-Identifier: Apache-2.0
#include "sandbox/probe.hpp"

#include "sandbox/cgroup.hpp"
#include "sandbox/confinement_trial.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/unique_fd.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace regatta::sandbox {

namespace {

using namespace linux_api;

/// True if `test` says so in a throw-away child.
template <class Test>
bool works(Test test) {
  const auto pid = ::fork();
  if (pid == 0) {
    ::_exit(test() ? 0 : 1);
  }
  int status = 1;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// All that a run's root needs, tried from inside a fresh set of namespaces.
bool can_build_root() {
  if (::unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0) {
    return false;
  }
  return works([] {  // the first child is pid 1 of the new namespace, as procfs asks
    const unique_fd tree{mount(nullptr, "/", nullptr, ms_rec | ms_private) == 0 ? clone_tree("/usr") : -1};
    const unique_fd root{make_tmpfs(std::uint64_t{1024} * 1024, "0755", attr_nosuid, 0)};
    return tree && root && set_tree_attributes(tree.get(), attr_rdonly) == 0 &&
           attach_tree(root.get(), AT_FDCWD, "/tmp") == 0 && ::fchdir(root.get()) == 0 && ::mkdir("proc", 0755) == 0 &&
           mount("proc", "proc", "proc", ms_nosuid) == 0 && pivot_root(".", ".") == 0;
  });
}

bool become(uid_t uid) {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(uid, uid, uid) == 0 && ::setresuid(uid, uid, uid) == 0;
}

/// By clone and not by unshare, as runs do it: unshare refuses a process with threads, which a sanitizer may add.
bool can_use_user_namespace() {
  const auto uid = std::to_string(::geteuid()), gid = std::to_string(::getegid());
  int pidfd = -1;
  bool has_joined = false;
  const auto pid = clone_process(CLONE_NEWUSER, -1, pidfd, has_joined);
  if (pid == 0) {
    write_file("/proc/self/setgroups", "deny");
    const bool is_mapped = write_file("/proc/self/uid_map", "1000 " + uid + " 1") &&
                           write_file("/proc/self/gid_map", "1000 " + gid + " 1");
    ::_exit(is_mapped && can_build_root() ? 0 : 1);
  }
  const unique_fd owned{pid > 0 ? pidfd : -1};
  int status = 1;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// An id that has no rights, for trying what an ordinary user may do.
constexpr uid_t nobody_special = 1'899'999'999;

void probe_identity(host_facts& facts) {
  facts.is_root = ::geteuid() == 0;
  facts.can_mount = facts.is_root && works(can_build_root);
  facts.can_setuid = facts.is_root && works([] { return become(nobody_special); });
  facts.user_namespace = works([] {
    if (::geteuid() == 0 && !become(nobody_special)) {
      return false;
    }
    ::prctl(PR_SET_DUMPABLE, 1);  // lost with the uid; without it our own /proc files are root's
    return can_use_user_namespace();
  });
  facts.apparmor_restricts_userns =
      read_file("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").starts_with("1");
}

bool can_clone_into(int cgroup) {
  int pidfd = -1;
  bool has_joined = false;
  const auto pid = clone_process(0, cgroup, pidfd, has_joined);
  if (pid == 0) {
    ::_exit(0);
  }
  const unique_fd owned{pid > 0 ? pidfd : -1};
  if (pid > 0) {
    ::waitpid(pid, nullptr, 0);
  }
  return pid > 0 && (cgroup < 0 || has_joined);
}

bool has_clone3() {
  // An impossible size: a kernel that knows the call says EINVAL, one that does not (or a profile) ENOSYS.
  return ::syscall(SYS_clone3, nullptr, 0) < 0 && errno != ENOSYS;
}

bool can_limit_v1(const std::string& place, const char* file, const char* value) {
  if (place.empty()) {
    return false;
  }
  const auto leaf = place + "/regatta-probe-" + std::to_string(::getpid());
  if (::mkdir(leaf.c_str(), 0755) != 0) {
    return false;
  }
  const bool ok = write_file(leaf + file, value) && ::access((leaf + "/cgroup.procs").c_str(), W_OK) == 0;
  ::rmdir(leaf.c_str());
  return ok;
}

void probe_v2(const std::string& place, host_facts& facts, std::string& why_not) {
  const auto leaf = place + "/regatta-probe-" + std::to_string(::getpid());
  if (place.empty() || ::mkdir(leaf.c_str(), 0755) != 0) {
    why_not = place.empty() ? "no cgroup v2 hierarchy is mounted" : "we may not make groups in " + place;
    return;
  }
  const unique_fd folder{::open(leaf.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  facts.clone_into_cgroup = works([&] { return can_clone_into(folder.get()); });
  facts.cgroup_kill = ::access((leaf + "/cgroup.kill").c_str(), W_OK) == 0;
  // The pids controller may be missing where memory is handed down; RLIMIT_NPROC bounds the run then.
  if (const auto delegation = cgroup_delegation::take(place, {}, why_not); delegation && facts.clone_into_cgroup) {
    facts.cgroup = "v2";
    facts.cgroup_memory = ::access((leaf + "/memory.max").c_str(), W_OK) == 0;
    facts.cgroup_pids = ::access((leaf + "/pids.max").c_str(), W_OK) == 0;
    ::rmdir(leaf.c_str());  // before what was handed down to it is taken back
  }
  ::rmdir(leaf.c_str());
}

std::string probe_cgroups(host_facts& facts) {
  std::string why_not;
  const auto places = find_cgroup_places();
  facts.cgroup = "none";
  probe_v2(places.v2, facts, why_not);
  if (!facts.cgroup_memory && can_limit_v1(places.v1_memory, "/memory.limit_in_bytes", "-1")) {
    facts.cgroup = "v1";
    facts.cgroup_memory = true;
    facts.cgroup_pids = can_limit_v1(places.v1_pids, "/pids.max", "max");
  }
  return facts.cgroup_memory ? std::string{} : why_not;
}

void probe_confinement(host_facts& facts) {
  if (facts.seccomp && facts.landlock_abi > 0) {
    facts.can_use_slot_uid = facts.can_setuid && can_confine_on_host(nobody_special, facts.landlock_abi);
    facts.can_confine = facts.can_use_slot_uid || can_confine_on_host(0, facts.landlock_abi);
  }
}

void name_obstacles(host_facts& facts, const std::string& cgroup_problem) {
  auto& list = facts.obstacles;
  const bool has_namespaces = facts.best >= level::namespaced;
  if (!facts.seccomp) {
    list.emplace_back("the kernel has no seccomp filters: CONFIG_SECCOMP_FILTER is needed");
  }
  if (!has_namespaces && facts.apparmor_restricts_userns && !facts.is_root) {
    list.emplace_back(
        "AppArmor refuses unprivileged user namespaces (Ubuntu 24.04): run as root, or sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0, or give regatta-sandbox a profile with `userns,`");
  } else if (!has_namespaces && !facts.is_root) {
    list.emplace_back(
        "no usable user namespaces: run as root, or sysctl user.max_user_namespaces=10000 (Debian, too: "
        "kernel.unprivileged_userns_clone=1); in a container also the options named next");
  }
  if (!has_namespaces && (facts.is_root || ::access("/.dockerenv", F_OK) == 0)) {
    list.emplace_back(
        "no right to make namespaces and mounts: in Docker start with --cap-add SYS_ADMIN --security-opt "
        "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined");
  }
  if (facts.landlock_abi == 0) {
    list.emplace_back(std::string{"the kernel has no Landlock: needs 5.13 and `landlock` in the lsm= list; "} +
                      (has_namespaces ? "one wall less" : "without it and without namespaces there is no sandbox"));
  }
  if (!has_namespaces && facts.is_root && !facts.can_use_slot_uid && facts.landlock_abi > 0) {
    list.emplace_back(
        "candidates run with our own uid: a uid for each needs CAP_SETUID, CAP_SETGID, CAP_CHOWN, CAP_KILL and "
        "CAP_DAC_OVERRIDE, which Docker gives unless it was told --cap-drop");
  }
  if (has_namespaces && !cgroup_problem.empty()) {
    list.emplace_back("no memory limit for the whole tree: " + cgroup_problem);
  }
}

}  // namespace

host_facts probe() {
  host_facts facts;
  utsname kernel{};
  ::uname(&kernel);
  facts.kernel = kernel.release;
  probe_identity(facts);
  facts.clone3 = has_clone3();
  std::uint32_t action = SECCOMP_RET_ERRNO;
  facts.seccomp = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
  facts.landlock_abi = landlock_abi();
  const auto cgroup_problem = probe_cgroups(facts);
  const bool has_namespaces =
      facts.seccomp && ((facts.can_mount && facts.can_setuid) || (!facts.is_root && facts.user_namespace));
  probe_confinement(facts);
  if (has_namespaces) {
    facts.best = facts.cgroup_memory ? level::full : level::namespaced;
  } else if (facts.can_confine) {
    facts.best = facts.can_use_slot_uid ? level::slot_uid : level::confined;
  }
  name_obstacles(facts, cgroup_problem);
  return facts;
}

}  // namespace regatta::sandbox
