// SPDX-License-Identifier: Apache-2.0
#include "sandbox/host_tree.hpp"

#include "sandbox/process_tree.hpp"
#include "sandbox/setup_error.hpp"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace regatta::sandbox {

namespace {

/// A look at the folder costs by the files in it; it may use a tenth of the time.
constexpr std::int64_t disk_look_share = 10;
constexpr std::int64_t disk_look_interval_ns = 100'000'000;

void ignore_signals() {
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGCHLD && number != SIGTERM) {
      ::signal(number, SIG_IGN);
    }
  }
}

}  // namespace

bool as_uid(std::uint32_t uid, void (*action)(const void*), const void* argument) {
  const auto pid = ::fork();
  if (pid == 0) {
    const bool is_other = ::setgroups(0, nullptr) == 0 && ::setresgid(uid, uid, uid) == 0 &&
                          ::setresuid(uid, uid, uid) == 0 && uid != 0 && ::getuid() == uid && ::geteuid() == uid;
    if (is_other) {
      action(argument);
    }
    ::_exit(is_other ? 0 : 1);
  }
  int status = 1;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

host_tree::host_tree(const confinement& walls, std::uint32_t uid, const run_limits& limits)
    : walls_(walls), uid_(uid), limits_(limits) {
  ignore_signals();
  ::umask(0022);  // the program's own may be stricter: the run's uid must be able to read its files
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int host_tree::make_folder(launch_plan& plan) {
  folder_ = make_scratch_folder();
  rewrite_run_folder(plan, folder_->path);
  return folder_->descriptor.get();
}

void host_tree::hand_over() const {
  check_step(uid_ == 0 || ::fchown(folder_->descriptor.get(), uid_, uid_) == 0, "chown " + folder_->path);
}

std::optional<init_record::kind> host_tree::look(std::int64_t now) {
  const auto use = use_of_descendants(limits_.memory);
  peak_ = std::max(peak_, use.memory);
  // A fork bomb is both; its number says more than its memory.
  if (limits_.pids > 0 && use.tasks > limits_.pids) {
    return init_record::kind::pids_exceeded;
  }
  if (limits_.memory > 0 && use.memory > limits_.memory) {
    return init_record::kind::memory_exceeded;
  }
  if (limits_.disk > 0 && folder_ && now >= next_disk_look_) {
    const bool is_within = fits_in(*folder_, limits_.disk);
    next_disk_look_ = now + std::max(disk_look_interval_ns, disk_look_share * (monotonic_ns() - now));
    if (!is_within) {
      return init_record::kind::disk_exceeded;
    }
  }
  return std::nullopt;
}

std::uint32_t host_tree::count() const {
  return walls_.host_view ? use_of_descendants(limits_.memory).processes : 0;
}

void host_tree::end() const {
  if (walls_.slot_uid) {
    // One call meets all of them: a fork that is under way is either seen by it or fails with the parent's death.
    as_uid(uid_, [](const void*) { ::kill(-1, SIGKILL); }, nullptr);
  }
  hunt_descendants();
}

void host_tree::remove_folder() const {
  if (!folder_) {
    return;
  }
  const auto remove = [](const void* folder) { remove_scratch_folder(*static_cast<const scratch_folder*>(folder)); };
  if (uid_ != 0) {
    as_uid(uid_, remove, &*folder_);
  }
  // Ours, or never handed over.
  if (::access(folder_->path.c_str(), F_OK) == 0) {
    remove_scratch_folder(*folder_);
  }
}

}  // namespace regatta::sandbox
