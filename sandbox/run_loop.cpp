// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run_loop.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace regatta::sandbox {

namespace {

constexpr unsigned source_bits = 8;
/// Between tries to remove a cgroup that the kernel still calls busy.
constexpr int sweep_interval_ms = 5;

/// Signals are the program's business, never this thread's.
class blocked_signals {
public:
  blocked_signals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;

private:
  sigset_t before_{};
};

}  // namespace

bool run_loop::open(run_loop_config config, std::string& error) {
  config_ = std::move(config);
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  null_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  slots_taken_.resize(config_.slots);
  if (!epoll_ || !wake_ || !null_ || !watch(wake_.get(), source::wake, 0)) {
    error = std::string{"epoll: "} + std::strerror(errno);
    return false;
  }
  if (!ensure_forker(error)) {
    return false;
  }
  open_zygotes();
  const blocked_signals scope;
  thread_ = std::thread{[this] { main(); }};
  return true;
}

run_loop::~run_loop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock{mutex_};
      is_stopping_ = true;
      for (const auto& entry : enders_) {
        entry.second->order(kill_reason::shut_down);
      }
    }
    wake();
    thread_.join();
  }
}

run_handle run_loop::start(run_spec spec, active_run::callbacks calls) {
  auto ender = std::make_shared<kill_switch>();
  run_handle handle = 0;
  {
    const std::lock_guard lock{mutex_};
    handle = ++last_;
    enders_.emplace(handle, ender);
    if (is_stopping_) {
      ender->order(kill_reason::shut_down);
    }
    inbox_.push_back({std::make_unique<active_run>(handle, std::move(spec), std::move(calls), ender), 0, {}});
  }
  wake();
  return handle;
}

void run_loop::write(run_handle run, std::string bytes) {
  {
    const std::lock_guard lock{mutex_};
    inbox_.push_back({nullptr, run, std::move(bytes)});
  }
  wake();
}

void run_loop::cancel(run_handle run) {
  std::shared_ptr<kill_switch> ender;
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = enders_.find(run); found != enders_.end()) {
      ender = found->second;
    }
  }
  if (ender) {
    ender->order(kill_reason::cancelled);
    wake();
  }
}

std::uint32_t run_loop::running() const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::uint32_t>(enders_.size() - waiting_count_);
}

void run_loop::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(wake_.get(), &one, sizeof one);
}

void run_loop::main() {
  std::optional<active_run::clock::time_point> stop_at;
  for (;;) {
    take_inbox();
    look_at_waiting();
    keep_ready();
    {
      const std::lock_guard lock{mutex_};
      if (is_stopping_ && !stop_at) {
        stop_at = active_run::clock::now() + quiet_timeout;
      }
      if (is_stopping_ && runs_.empty() && inbox_.empty()) {
        break;
      }
    }
    if (stop_at && active_run::clock::now() >= *stop_at) {
      give_up();
      return;
    }
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, next_timeout());
    for (int i = 0; i < count; ++i) {
      const auto data = events[i].data.u64;
      on_event(static_cast<source>(data & ((1U << source_bits) - 1)), data >> source_bits);
    }
    on_deadlines();
    is_sweeping_ = is_sweeping_ && config_.cgroups->sweep();
  }
  forker_.stop();
}

/// Trees that the kernel does not end (a process in uninterruptible sleep): say so instead of waiting for ever.
void run_loop::give_up() {
  while (!runs_.empty()) {
    auto& run = *runs_.begin()->second;
    auto result = run.result(config_.walls, {}, active_run::clock::now());
    result.outcome = outcome::sandbox_failed;
    result.claim = claim::none;
    result.reason = "not confirmed gone " + in_words(quiet_timeout) + " after the order to kill";
    const auto owned = std::move(runs_.begin()->second);
    runs_.erase(runs_.begin());
    owned->calls.done(std::move(result));
  }
  forker_.kill();
}

void run_loop::take_inbox() {
  std::vector<order> orders;
  {
    const std::lock_guard lock{mutex_};
    orders.swap(inbox_);
  }
  for (auto& item : orders) {
    if (item.run) {
      launch(std::move(item.run));
    } else if (const auto found = runs_.find(item.to); found != runs_.end()) {
      found->second->write_input(item.bytes);
    }
  }
}

bool run_loop::watch(int fd, source what, std::uint64_t run, bool is_for_writing) {
  epoll_event event{};
  // The input end only wakes us when it becomes writable again, not as long as it is.
  event.events = is_for_writing ? EPOLLOUT | static_cast<std::uint32_t>(EPOLLET) : static_cast<std::uint32_t>(EPOLLIN);
  event.data.u64 = (run << source_bits) | static_cast<std::uint64_t>(what);
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

/// The same descriptor, of another run now. Not for writing.
void run_loop::rewatch(int fd, source what, std::uint64_t run) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = (run << source_bits) | static_cast<std::uint64_t>(what);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void run_loop::on_event(source what, std::uint64_t id) {
  if (what == source::wake) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto ignored = ::read(wake_.get(), &count, sizeof count);
    return;
  }
  if (what == source::forker) {
    on_forker();
    return;
  }
  if (what == source::zygote) {
    on_zygote(id);
    return;
  }
  const auto found = runs_.find(id);
  if (found == runs_.end()) {
    return;
  }
  auto& run = *found->second;
  switch (what) {
    case source::control:
      run.read_records();
      break;
    case source::in:
      run.flush_input();
      break;
    case source::out:
      run.read_output(1);
      break;
    case source::err:
      run.read_output(2);
      break;
    case source::pidfd:
      on_first_process_end(run);
      break;
    case source::ready:
      on_ready_word(run);
      break;
    case source::wake:
    case source::forker:
    case source::zygote:
      break;
  }
}

void run_loop::on_deadlines() {
  const auto now = active_run::clock::now();
  bool is_forker_stuck = false;
  std::optional<zygote_book::id> stuck_zygote;
  for (const auto& entry : runs_) {
    auto& run = *entry.second;
    if (const auto deadline = run.deadline(); deadline && *deadline <= now) {
      run.on_deadline();
      is_forker_stuck = is_forker_stuck || (!run.is_armed && !run.zygote);
      stuck_zygote = run.is_armed ? stuck_zygote : run.zygote;
    }
  }
  if (is_forker_stuck) {
    forker_.kill();
    on_forker_down({});
  }
  if (stuck_zygote) {
    on_zygote_down(*stuck_zygote, "it did not start a run");
  }
}

int run_loop::next_timeout() const {
  auto next = active_run::clock::time_point::max();
  for (const auto& entry : runs_) {
    if (const auto deadline = entry.second->deadline()) {
      next = std::min(next, *deadline);
    }
  }
  // A second at most, as a stop has its own limit.
  constexpr std::int64_t longest_ms = 1'000;
  std::int64_t ms = longest_ms;
  if (next != active_run::clock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - active_run::clock::now()).count();
    ms = std::clamp<std::int64_t>(left, 0, longest_ms);
  }
  return is_sweeping_ ? std::min(static_cast<int>(ms), sweep_interval_ms) : static_cast<int>(ms);
}

void run_loop::conclude(active_run& run) {
  run.ender->disarm();
  run.read_records();
  on_ready_word(run);
  if (run.was_ready && !run.has_begun && !run.ender->reason()) {
    run.fail("the process that had waited for it ended before it began");
  }
  run.drain_output();
  if (!config_.walls.namespaces) {
    run.remove_left_folder();
  }
  // A caller's thread or a peer may wait for these to be closed.
  run.spare.clear();
  for (const auto& end : {run.spec.standard_in, run.spec.standard_out}) {
    if (end) {
      end->reset();
    }
  }
  const auto now = active_run::clock::now();
  if (run.zygote) {
    zygotes_.on_run_end(*run.zygote, now);
  }
  if (run.holds_alone) {
    ready_.leave_alone(run.spec.devices);
  }
  const auto usage = cgroup_tree::usage(run.leaf);
  auto result = run.result(config_.walls, usage, now);
  if (config_.cgroups) {
    config_.cgroups->retire(std::move(run.leaf));
    is_sweeping_ = config_.cgroups->sweep();
  }
  if (run.slot) {
    slots_taken_[*run.slot] = false;
  }
  const auto found = runs_.find(run.id);
  const auto owned = std::move(found->second);
  runs_.erase(found);
  {
    const std::lock_guard lock{mutex_};
    enders_.erase(owned->id);
  }
  owned->calls.done(std::move(result));
}

}  // namespace regatta::sandbox
