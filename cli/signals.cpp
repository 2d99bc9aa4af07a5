// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include "cli/exit_codes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

namespace regatta::cli {

namespace {

constexpr std::array watched = {SIGINT, SIGTERM, SIGHUP};

/// A stopped terminal must not keep the second signal from working.
void say(const std::string& text) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  }
}

[[noreturn]] void leave_at_once() {
  // No destructor runs: candidates and programs die by their lifelines as soon as this process is gone.
  ::_exit(static_cast<int>(exit_code::cancelled));
}

}  // namespace

const char* signal_name(int signal) {
  return signal == SIGINT ? "SIGINT (Ctrl-C)" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

signal_watch::signal_watch() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : watched) {
    struct sigaction old {};
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) {
      sigaddset(&set, signal);
    }
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread{[this] { watch(); }};
}

signal_watch::~signal_watch() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_, &one, sizeof one);
  thread_.join();
  ::close(signals_);
  ::close(stop_);
}

void signal_watch::on_first(std::function<void(int)> handler) {
  const std::lock_guard lock{mutex_};
  handler_ = std::move(handler);
}

void signal_watch::watch() {
  std::array<pollfd, 2> fds = {{{signals_, POLLIN, 0}, {stop_, POLLIN, 0}}};
  while (::poll(fds.data(), fds.size(), -1) >= 0 || errno == EINTR) {
    if (fds[1].revents != 0) {
      return;
    }
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      on_signal(static_cast<int>(info.ssi_signo));
    }
  }
}

void signal_watch::on_signal(int signal) {
  const std::lock_guard lock{mutex_};
  if (std::exchange(has_seen_one_, true) || !handler_) {
    say(std::string{"\nregatta: "} + signal_name(signal) + ": ended at once\n");
    leave_at_once();
  }
  say(std::string{"\nregatta: "} + signal_name(signal) + ": stopping; again to stop at once\n");
  handler_(signal);
}

}  // namespace regatta::cli
