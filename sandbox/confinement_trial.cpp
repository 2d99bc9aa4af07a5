// SPDX-License-Identifier: Apache-2.0
#include "sandbox/confinement_trial.hpp"

#include "sandbox/candidate.hpp"
#include "sandbox/host_tree.hpp"
#include "sandbox/seccomp_policy.hpp"
#include "sandbox/setup_error.hpp"
#include "sandbox/wire.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace regatta::sandbox {

namespace {

constexpr char held = '+';

/// A folder of ours that goes with us.
class trial_folder {
public:
  trial_folder() : folder_(make_scratch_folder()) {}
  ~trial_folder() { remove_scratch_folder(folder_); }
  trial_folder(const trial_folder&) = delete;
  trial_folder& operator=(const trial_folder&) = delete;
  const scratch_folder& get() const { return folder_; }

private:
  scratch_folder folder_;
};

bool makes_file(const std::string& path) {
  return static_cast<bool>(unique_fd{::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)});
}

bool is_refused(int result) {
  return result < 0 && (errno == EACCES || errno == EPERM || errno == EAFNOSUPPORT);
}

/// As a candidate: own folder yes; a file that only Landlock closes, the network, a connection, our parent no.
bool holds(const std::string& own, const std::string& closed) {
  sockaddr_un nobody{};
  nobody.sun_family = AF_UNIX;
  const unique_fd stream{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  return makes_file(own + "/trial") && is_refused(::open(closed.c_str(), O_RDONLY | O_CLOEXEC)) && stream &&
         is_refused(::connect(stream.get(), reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody)) &&
         is_refused(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) && is_refused(::kill(::getppid(), 0));
}

[[noreturn]] void be_tried(const launch_plan& plan, const std::string& own, const std::string& closed, int answer) {
  try {
    if (::chdir(own.c_str()) == 0) {
      enclose(plan, {});
      if (holds(own, closed)) {
        [[maybe_unused]] const auto ignored = ::write(answer, &held, 1);
      }
    }
  } catch (const setup_error&) {
    ::_exit(1);
  }
  ::pause();  // until we are killed: whether that works is part of the question
  ::_exit(1);
}

launch_plan trial_plan(std::uint32_t uid, int landlock_abi) {
  launch_plan plan;
  plan.walls.host_view = plan.walls.seccomp = true;
  plan.walls.slot_uid = uid != 0;
  plan.walls.landlock_abi = landlock_abi;
  plan.uid = uid;
  std::string error;
  plan.filter = bytes_of(build_host_filter(uid != 0, landlock_abi, error));
  return plan;
}

bool try_it(std::uint32_t uid, int landlock_abi) {
  const trial_folder own, other;
  const auto closed = other.get().path + "/closed";
  const auto plan = trial_plan(uid, landlock_abi);
  unique_fd answer, their_answer;
  // Nothing but Landlock closes that file: anybody could read it.
  const bool is_ready = makes_file(closed) && ::chmod(closed.c_str(), 0644) == 0 &&
                        ::chmod(other.get().path.c_str(), 0755) == 0 && !plan.filter.empty() &&
                        make_pipe(answer, their_answer) &&
                        (uid == 0 || ::fchown(own.get().descriptor.get(), uid, uid) == 0);
  const auto pid = is_ready ? ::fork() : -1;
  if (pid == 0) {
    be_tried(plan, own.get().path, closed, their_answer.get());
  }
  their_answer.reset();
  char byte = 0;
  const bool has_held = pid > 0 && ::read(answer.get(), &byte, 1) == 1 && byte == held;
  const bool is_killed = pid > 0 && ::kill(pid, SIGKILL) == 0 && ::waitpid(pid, nullptr, 0) == pid;
  // The candidate's file has mode 0600: as its owner or by right, we must get at it.
  const auto left = own.get().path + "/trial";
  return has_held && is_killed && unique_fd{::open(left.c_str(), O_RDONLY | O_CLOEXEC)} &&
         ::access("/proc/thread-self/children", R_OK) == 0;
}

}  // namespace

bool can_confine_on_host(std::uint32_t uid, int landlock_abi) {
  // In a child: it opens folders, raises a limit, and must not be interrupted by threads of ours that fork.
  const auto pid = ::fork();
  if (pid == 0) {
    bool is_good = false;
    try {
      is_good = try_it(uid, landlock_abi);
    } catch (const setup_error&) {
      is_good = false;
    }
    ::_exit(is_good ? 0 : 1);
  }
  int status = 1;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace regatta::sandbox
