// SPDX-License-Identifier: Apache-2.0
#include "sandbox/init.hpp"

#include "sandbox/candidate.hpp"
#include "sandbox/host_tree.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/process_tree.hpp"
#include "sandbox/root_fs.hpp"
#include "sandbox/setup_error.hpp"
#include "sandbox/wire.hpp"

#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace regatta::sandbox {

namespace {

/// Without a cgroup the tree's memory is summed up this often: 84 processes cost well under 1 ms.
constexpr std::int64_t sample_interval_ns = 100'000'000;

class init_process {
public:
  init_process(init_ends ends, launch_plan plan, const std::vector<sock_filter>& filter, warm_parent* warm)
      : ends_(std::move(ends)), plan_(std::move(plan)), filter_(filter), warm_(warm) {}

  void set_up() {
    // Our end is the tree's end; the forker's death must be ours. Nobody inside may read our memory or descriptors.
    ::prctl(PR_SET_PDEATHSIG, plan_.walls.namespaces ? SIGKILL : SIGTERM);
    ::prctl(PR_SET_DUMPABLE, 0);
    for (const auto& file : ends_.procs_files) {
      check_step(::write(file.get(), "0", 1) == 1, "enter cgroup");
    }
    if (plan_.walls.user_namespace) {
      map_users();
    }
    if (plan_.walls.namespaces) {
      const auto job = enter_new_root(plan_);
      enter_folder(job.get());
      ::sethostname("job", 3);
      bring_loopback_up();
    } else {
      // From now on nobody but us ends the tree and removes the folder, so we do not just end.
      block_signals();
      on_host_.emplace(plan_.walls, plan_.uid, plan_.limits);
      enter_folder(on_host_->make_folder(plan_));
      on_host_->hand_over();
    }
    give_output_ends_away();
  }

  /// The runner answers once it can kill us: nothing of the candidate runs before. False: it will not, or gave the
  /// order to end.
  bool wait_for_go() {
    pollfd ends[] = {{ends_.runner.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};  // a descriptor of -1 is left out
    while (::poll(ends, 2, -1) < 0 && errno == EINTR) {
    }
    char byte = 0;
    return ends[1].revents == 0 && ::read(ends_.runner.get(), &byte, 1) == 1 && byte == go_byte;
  }

  void start() {
    if (!signals_) {
      block_signals();
    }
    unique_fd report_writer;
    check_step(make_pipe(exec_report_, report_writer), "make pipe");
    main_ = ::fork();
    check_step(main_ >= 0, "fork");
    if (main_ == 0) {
      become_candidate(plan_, {ends_.in.get(), ends_.out.get(), ends_.err.get(), report_writer.get()}, filter_, warm_);
    }
    ends_.in.reset();
    ends_.out.reset();
    ends_.err.reset();
    if (plan_.walls.namespaces) {
      drop_capabilities();
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
  }

  /// Until main has ended, or somebody ends the run.
  void watch() {
    const auto started = monotonic_ns();
    begin_wall_limit(plan_.limits.wall);
    for (auto next_sample = started + sample_interval_ns; !is_over_;) {
      const auto now = monotonic_ns();
      if (overdue_ != 0 && now >= overdue_) {
        finish(init_record::kind::overdue, 0);
        break;
      }
      if (now >= next_sample) {
        sample();
        next_sample = now + sample_interval_ns;
      }
      wait_for_something(is_sampling() ? next_sample : 0);
    }
  }

  void report_failure(const setup_error& failure) {
    init_record record;
    record.what = init_record::kind::failed;
    record.code = failure.error;
    set_step(record, failure.step);
    send(record, {});
  }

  /// Only without a pid namespace: nobody else ends the tree and removes the folder.
  void clean_up_without_namespace() {
    if (plan_.walls.namespaces) {
      return;
    }
    if (on_host_) {
      on_host_->end();
    }
    finish(init_record::kind::stopped, 0);
    if (on_host_ && on_host_->has_folder()) {
      // The runner copies artifacts out, then hangs up.
      pollfd hang_up{ends_.runner.get(), 0, 0};
      while (::poll(&hang_up, 1, -1) < 0 && errno == EINTR) {
      }
      on_host_->remove_folder();
    }
  }

private:
  void map_users() {
    const auto uid = std::to_string(ends_.outer_uid);
    const auto gid = std::to_string(ends_.outer_gid);
    // Our own /proc files belong to root while we are not dumpable.
    ::prctl(PR_SET_DUMPABLE, 1);
    linux_api::write_file("/proc/self/setgroups", "deny");
    check_step(linux_api::write_file("/proc/self/uid_map", "1000 " + uid + " 1"), "write uid_map");
    check_step(linux_api::write_file("/proc/self/gid_map", "1000 " + gid + " 1"), "write gid_map");
    ::prctl(PR_SET_DUMPABLE, 0);
  }

  void enter_folder(int folder) {
    fill_job_folder(folder, plan_);
    init_record record;
    record.what = init_record::kind::job_folder;
    set_step(record, on_host_ ? on_host_->path() : run_folder);
    send(record, {folder});
    check_step((plan_.walls.namespaces ? ::chdir(run_folder) : ::fchdir(folder)) == 0, "enter run folder");
  }

  void bring_loopback_up() {
    if (!plan_.has_loopback) {
      return;
    }
    const unique_fd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    ifreq request{};
    request.ifr_name[0] = 'l';
    request.ifr_name[1] = 'o';
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    check_step(socket && ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0, "bring loopback up");
  }

  /// Else open("/dev/stdout") is EACCES for a slot uid.
  void give_output_ends_away() {
    for (const auto* end : {&ends_.out, &ends_.err}) {
      check_step(plan_.uid == 0 || ::fchown(end->get(), plan_.uid, plan_.uid) == 0, "chown output pipe");
    }
  }

  void block_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    if (!plan_.walls.namespaces) {
      // The runner's order to hunt. A pid 1 must not block it: the kernel drops what a member of its namespace sends
      // to it only as long as the signal is neither handled nor blocked, and at some levels members have our uid.
      ::sigaddset(&set, SIGTERM);
    }
    ::sigprocmask(SIG_SETMASK, &set, nullptr);
    signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    check_step(static_cast<bool>(signals_), "signalfd");
  }

  bool is_sampling() const { return plan_.walls.seccomp && !plan_.walls.memory_group; }

  void sample() {
    if (!is_sampling()) {
      return;
    }
    if (on_host_) {
      const auto exceeded = on_host_->look(monotonic_ns());
      peak_ = on_host_->peak_bytes();
      if (exceeded) {
        finish(*exceeded, 0);
      }
      return;
    }
    const auto sum = tree_memory(plan_.limits.memory);
    peak_ = std::max(peak_, sum);
    if (plan_.limits.memory > 0 && sum > plan_.limits.memory) {
      finish(init_record::kind::memory_exceeded, 0);
    }
  }

  void begin_wall_limit(std::chrono::milliseconds wall) {
    overdue_ = wall.count() == 0 ? 0 : monotonic_ns() + std::chrono::nanoseconds{wall + backstop_grace}.count();
  }

  /// A process that waited has got its run.
  void read_wall_order() {
    wall_order order;
    if (::read(ends_.runner.get(), &order, sizeof order) == static_cast<ssize_t>(sizeof order) &&
        order.what == wall_order_byte) {
      begin_wall_limit(std::chrono::milliseconds{order.wall_ms});
    }
  }

  void wait_for_something(std::int64_t sample) {
    auto until = overdue_;
    if (sample != 0 && (until == 0 || sample < until)) {
      until = sample;
    }
    constexpr std::int64_t per_ms = 1'000'000;
    const int timeout =
        until == 0 ? -1 : static_cast<int>(std::clamp<std::int64_t>((until - monotonic_ns()) / per_ms + 1, 0, 60'000));
    pollfd ends[] = {{signals_.get(), POLLIN, 0},
                     {ends_.runner.get(), static_cast<short>(plan_.waits ? POLLIN : 0), 0},
                     {ends_.forker_alive, 0, 0},
                     {exec_report_.get(), POLLIN, 0}};
    if (::poll(ends, 4, timeout) <= 0 || is_over_) {
      return;
    }
    if (ends[3].revents != 0) {
      on_exec_report();
    }
    if (ends[0].revents != 0) {
      on_signal();
    }
    // Runner or forker dead: so are we, and with us the tree.
    if ((ends[1].revents & POLLIN) != 0) {
      read_wall_order();
    }
    is_over_ = is_over_ || (ends[1].revents & ~POLLIN) != 0 || ends[2].revents != 0;
  }

  void on_exec_report() {
    init_record record;
    if (::read(exec_report_.get(), &record, sizeof record) == static_cast<ssize_t>(sizeof record)) {
      record.what = init_record::kind::failed;
      has_ended_ = is_over_ = true;
    } else {
      record = {};
      record.what = init_record::kind::started;
    }
    exec_report_.reset();
    send(record, {});
  }

  void on_signal() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) > 0) {
      is_over_ = is_over_ || info.ssi_signo == SIGTERM;
    }
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == main_) {
        if (exec_report_) {
          on_exec_report();
        }
        if (!has_ended_) {
          finish(init_record::kind::ended, status);
        }
      }
    }
  }

  void finish(init_record::kind what, int code) {
    init_record record;
    record.what = what;
    record.code = code;
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    constexpr std::uint64_t per_second = 1'000'000;
    record.cpu_us = static_cast<std::uint64_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * per_second +
                    static_cast<std::uint64_t>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    record.peak_bytes = std::max(peak_, static_cast<std::uint64_t>(used.ru_maxrss) * KiB);
    record.left_behind = on_host_ ? on_host_->count() : plan_.walls.namespaces ? count_others_in_namespace() : 0;
    has_ended_ = is_over_ = true;
    send(record, {});
  }

  void send(init_record& record, const std::vector<int>& descriptors) {
    record.at_ns = monotonic_ns();
    send_message(ends_.runner.get(), &record, sizeof record, descriptors);
  }

  init_ends ends_;
  launch_plan plan_;
  const std::vector<sock_filter>& filter_;
  warm_parent* const warm_;
  std::optional<host_tree> on_host_;  ///< Without namespaces.
  unique_fd signals_;
  unique_fd exec_report_;
  pid_t main_ = -1;
  std::uint64_t peak_ = 0;
  std::int64_t overdue_ = 0;  ///< When we end the run ourselves; 0: never.
  bool has_ended_ = false;  ///< The last record was sent.
  bool is_over_ = false;
};

}  // namespace

void run_init(init_ends ends, const std::vector<sock_filter>& filter, warm_parent* warm) {
  auto plan = decode_plan(read_memory_file(ends.plan.get()));
  if (!plan) {
    ::_exit(125);
  }
  init_process init{std::move(ends), std::move(*plan), filter, warm};
  try {
    init.set_up();
    if (init.wait_for_go()) {
      init.start();
      init.watch();
    }
  } catch (const setup_error& failure) {
    init.report_failure(failure);
  }
  init.clean_up_without_namespace();
  ::_exit(0);
}

}  // namespace regatta::sandbox
