// SPDX-License-Identifier: Apache-2.0
#include "sandbox/candidate.hpp"

#include "sandbox/landlock.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/pid_fence.hpp"
#include "sandbox/setup_error.hpp"
#include "sandbox/warm_parent.hpp"
#include "sandbox/wire.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace regatta::sandbox {

namespace {

constexpr int report_fd = 3;
constexpr int weakest_nice = 19;  ///< The kernel's range ends here.

/// A hard limit that is lower already stays: raising it takes a right that even root may not have.
void limit(__rlimit_resource_t what, std::uint64_t soft, std::uint64_t hard) {
  rlimit value{};
  check_step(::getrlimit(what, &value) == 0, "getrlimit " + std::to_string(static_cast<int>(what)));
  value.rlim_max = std::min<rlim_t>(value.rlim_max, hard);
  value.rlim_cur = std::min<rlim_t>(value.rlim_max, soft);
  check_step(::setrlimit(what, &value) == 0, "setrlimit " + std::to_string(static_cast<int>(what)));
}

void limit(__rlimit_resource_t what, std::uint64_t value) {
  limit(what, value, value);
}

void set_limits(const launch_plan& plan) {
  const auto& limits = plan.limits;
  limit(RLIMIT_CORE, 0);
  if (limits.cpu.count() > 0) {
    // At the soft limit SIGXCPU, which may be ignored; a second later SIGKILL.
    const auto seconds = static_cast<std::uint64_t>(limits.cpu.count());
    limit(RLIMIT_CPU, seconds, seconds + 1);
  }
  if (limits.file > 0) {
    limit(RLIMIT_FSIZE, limits.file);
  }
  // Never RLIMIT_AS: CUDA reserves more than 17 GiB of addresses.
  if (limits.data > 0 && !plan.walls.memory_group) {
    limit(RLIMIT_DATA, limits.data);
  }
  // Counted per user, so useless where the user has other processes.
  if (limits.pids > 0 && (plan.walls.slot_uid || plan.walls.user_namespace)) {
    limit(RLIMIT_NPROC, limits.pids);
  }
  limit(RLIMIT_NOFILE, limits.open_files);
  limit(RLIMIT_MEMLOCK, 64 * MiB);
  limit(RLIMIT_MSGQUEUE, 0);
}

/// Behind whoever waits for it: docs/adr/0007-candidates-step-back.md. Best effort, as nothing is safer by it. The way
/// back needs CAP_SYS_NICE or a higher RLIMIT_NICE, and a candidate has neither.
void step_back() {
  ::setpriority(PRIO_PROCESS, 0, std::min(weakest_nice, ::getpriority(PRIO_PROCESS, 0) + candidate_nice));
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
  limit(RLIMIT_NICE, 0);
  limit(RLIMIT_RTPRIO, 0);
}

void drop_bounding_set() {
  constexpr int beyond_any = 64;
  for (int capability = 0; capability < beyond_any; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 && errno == EINVAL) {
      break;
    }
  }
}

void take_ends(const candidate_ends& ends) {
  // The report goes out of the way of 0, 1 and 2 first, then to 3; everything else is closed.
  const int report = ::fcntl(ends.exec_report, F_DUPFD_CLOEXEC, report_fd);
  check_step(report >= 0, "keep exec report");
  check_step(::dup2(ends.in, 0) == 0 && ::dup2(ends.out, 1) == 1 && ::dup2(ends.err, 2) == 2, "dup2");
  check_step(report == report_fd || ::dup3(report, report_fd, O_CLOEXEC) == report_fd, "dup3");
  check_step(linux_api::close_range(report_fd + 1, ~0U) == 0, "close_range");
}

void reset_signals() {
  reset_signal_handlers();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void install(const std::vector<sock_filter>& program, const char* step) {
  check_step(linux_api::install_seccomp(program.data(), static_cast<unsigned short>(program.size())) == 0, step);
}

}  // namespace

void reset_signal_handlers() {
  for (int number = 1; number < NSIG; ++number) {
    ::signal(number, SIG_DFL);
  }
}

void drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2]{};
  check_step(::syscall(SYS_capset, &header, none) == 0, "capset");
}

void confine(const launch_plan& plan, const std::vector<sock_filter>& filter) {
  set_limits(plan);
  step_back();
  enclose(plan, filter);
}

void enclose(const launch_plan& plan, const std::vector<sock_filter>& filter) {
  const auto parent = ::getppid();
  check_step(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  restrict_files(plan);
  // The order matters: bounding set, groups, gid, uid, and only then the capability sets.
  if (plan.walls.seccomp) {
    drop_bounding_set();
  }
  if (plan.uid != 0) {
    check_step(::setgroups(0, nullptr) == 0, "setgroups");
    check_step(::setresgid(plan.uid, plan.uid, plan.uid) == 0, "setresgid");
    check_step(::setresuid(plan.uid, plan.uid, plan.uid) == 0, "setresuid");
  }
  if (plan.walls.seccomp) {
    drop_capabilities();
  }
  ::umask(0077);
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  reset_signals();
  if (plan.walls.host_view) {
    install(pid_fence(parent), "seccomp: fence of pids");
    install(program_of(plan.filter), "seccomp");
  } else if (plan.walls.seccomp) {
    install(filter, "seccomp");
  }
}

void become_candidate(const launch_plan& plan, const candidate_ends& ends, const std::vector<sock_filter>& filter,
                      warm_parent* warm) {
  int report = ends.exec_report;
  try {
    ::setsid();
    take_ends(ends);
    report = report_fd;
    // pid 1 made the run's folder its current one; the candidate starts there.
    auto argv = linux_api::pointers_to(plan.argv);
    auto environment = linux_api::pointers_to(plan.environment);
    init_record failed_exec;  // made ready: under RLIMIT_DATA there may be no memory for it later
    set_step(failed_exec, "exec " + plan.argv[0]);
    init_record closed_exec;
    set_step(closed_exec, "exec " + plan.argv[0] + ", which the run's own uid must reach through every folder above it");
    confine(plan, filter);
    if (warm != nullptr) {
      ::close(report);
      warm->become(plan);
    }
    ::execve(argv[0], argv.data(), environment.data());
    auto& failed = errno == EACCES && plan.walls.host_view && plan.walls.slot_uid ? closed_exec : failed_exec;
    failed.code = errno;
    [[maybe_unused]] const auto ignored = ::write(report, &failed, sizeof failed);
  } catch (const setup_error& failure) {
    init_record record;
    record.code = failure.error;
    set_step(record, failure.step);
    [[maybe_unused]] const auto ignored = ::write(report, &record, sizeof record);
  }
  ::_exit(125);
}

}  // namespace regatta::sandbox
