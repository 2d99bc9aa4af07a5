// SPDX-License-Identifier: Apache-2.0
#include "sandbox/forker.hpp"

#include "sandbox/candidate.hpp"
#include "sandbox/init.hpp"
#include "sandbox/launch_plan.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/warm_parent.hpp"
#include "sandbox/wire.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace regatta::sandbox {

namespace {

class forker {
public:
  forker(std::vector<sock_filter> filter, warm_parent* warm) : filter_(std::move(filter)), warm_(warm) {}

  bool open() {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &child, nullptr);
    signals_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    // Without a pid namespace a killed pid 1 would leave its tree to the host's init.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // A stopped one would never see that the runner is gone. Not SIGKILL: there are cgroups to remove, and the kernel
    // sends it also when only the thread that started us ends.
    ::prctl(PR_SET_PDEATHSIG, SIGCONT);
    ::prctl(PR_SET_DUMPABLE, 0);
    if (!signals_ || !make_pipe(alive_, alive_writer_) || filter_.empty()) {
      return false;
    }
    launch_reply hello;
    hello.error = static_cast<std::int32_t>(wire_version);
    return send_message(forker_channel_fd, &hello, sizeof hello, {});
  }

  void serve() {
    pollfd ends[] = {{forker_channel_fd, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    for (;;) {
      if (::poll(ends, 2, -1) < 0 && errno != EINTR) {
        return;
      }
      if (ends[1].revents != 0) {
        reap();
      }
      if (ends[0].revents != 0 && !serve_one()) {
        return;
      }
    }
  }

  /// Runs end by themselves: their sockets to the runner and the pipe from us hang up. One that was stopped sees that
  /// only once it goes on.
  void wait_for_runs() {
    alive_writer_.reset();
    for (const auto pid : running_) {
      ::kill(pid, SIGCONT);
    }
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  }

private:
  void reap() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) > 0) {
    }
    for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) {
      running_.erase(pid);
    }
    if (sees_host_) {
      end_orphans();
    }
  }

  /// What is left of a run whose first process was killed is ours now, as we are a subreaper; their own children become
  /// ours when they die.
  void end_orphans() {
    const auto self = std::to_string(::getpid());
    std::istringstream children{linux_api::read_file("/proc/self/task/" + self + "/children")};
    bool is_any = false;
    for (pid_t pid = 0; children >> pid;) {
      if (running_.count(pid) == 0) {
        is_any = true;
        ::kill(pid, SIGKILL);
      }
    }
    if (!is_any) {
      for (const auto run : std::exchange(questions_, {})) {
        const launch_reply answer{run, nothing_left, 0};
        send_message(forker_channel_fd, &answer, sizeof answer, {});
      }
    }
  }

  bool serve_one() {
    launch_request request;
    received message;
    if (!receive_message(forker_channel_fd, &request, sizeof request, message) || message.size != sizeof request) {
      return false;
    }
    if (request.is_question != 0) {
      questions_.push_back(request.run);
      reap();
      return true;
    }
    if (message.descriptors.size() < fixed_descriptors + request.has_cgroup + request.procs_files) {
      return false;
    }
    launch(request, message.descriptors);
    return true;
  }

  void launch(const launch_request& request, std::vector<unique_fd>& descriptors) {
    launch_reply reply;
    reply.run = request.run;
    sees_host_ = sees_host_ || request.clone_flags == 0;
    if (warm_ != nullptr && !warm_->is_fit()) {
      reply.error = unfit_to_fork;
      send_message(forker_channel_fd, &reply, sizeof reply, {});
      return;
    }
    int pidfd = -1;
    bool joined = false;
    const int cgroup = request.has_cgroup != 0 ? descriptors[fixed_descriptors].get() : -1;
    if (warm_ != nullptr) {
      warm_->before_fork();
    }
    const auto pid = linux_api::clone_process(request.clone_flags, cgroup, pidfd, joined);
    if (pid == 0) {
      become_init(descriptors, fixed_descriptors + request.has_cgroup);
    }
    reply.error = pid < 0 ? errno : 0;
    if (warm_ != nullptr) {
      warm_->after_fork();
    }
    if (pid > 0) {
      running_.insert(pid);
    }
    const unique_fd owned{pid < 0 ? -1 : pidfd};
    send_message(forker_channel_fd, &reply, sizeof reply, owned ? std::vector<int>{owned.get()} : std::vector<int>{});
  }

  [[noreturn]] void become_init(std::vector<unique_fd>& descriptors, std::size_t first_procs) {
    ::close(forker_channel_fd);
    if (warm_ != nullptr) {
      reset_signal_handlers();
    }
    signals_.reset();
    alive_writer_.reset();
    init_ends ends;
    ends.plan = std::move(descriptors[0]);
    ends.runner = std::move(descriptors[1]);
    ends.in = std::move(descriptors[2]);
    ends.out = std::move(descriptors[3]);
    ends.err = std::move(descriptors[4]);
    for (auto at = first_procs; at < descriptors.size(); ++at) {
      ends.procs_files.push_back(std::move(descriptors[at]));
    }
    ends.outer_uid = uid_;
    ends.outer_gid = gid_;
    ends.forker_alive = alive_.get();
    run_init(std::move(ends), filter_, warm_);
  }

  const uid_t uid_ = ::geteuid();
  const gid_t gid_ = ::getegid();
  const std::vector<sock_filter> filter_;
  warm_parent* const warm_;
  unique_fd signals_;
  /// Every run's pid 1 holds the read end; only we hold the other.
  unique_fd alive_, alive_writer_;
  bool sees_host_ = false;  ///< Runs have no pid namespace.
  std::vector<std::uint64_t> questions_;
  std::set<pid_t> running_;  ///< Not reaped, so no number is anybody else's.
};

}  // namespace

bool serve_runs(std::vector<sock_filter> filter, warm_parent* warm) {
  forker self{std::move(filter), warm};
  if (!self.open()) {
    return false;
  }
  self.serve();
  self.wait_for_runs();
  return true;
}

}  // namespace regatta::sandbox
