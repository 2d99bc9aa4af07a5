// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/command_runner.hpp"

#include "actors/llm/order_box.hpp"
#include "actors/llm/running_program.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// glibc's list of NAME=value.
extern char** environ;  // NOLINT

namespace regatta {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// From the cut of the lifeline until it must have ended. A tree that is not gone then hangs in the kernel.
constexpr auto kill_timeout = 5s;
constexpr int poll_ms = 1'000;
constexpr int poll_ms_while_stopping = 50;

bool is_passed(std::string_view name, const std::vector<std::string>& also) {
  static constexpr std::string_view always[] = {"PATH", "HOME", "TERM", "USER"};
  for (const auto known : always) {
    if (name == known) {
      return true;
    }
  }
  if (name.starts_with("LANG") || name.starts_with("LC_")) {
    return true;
  }
  for (const auto& known : also) {
    if (name == known) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> program_environment(const std::vector<std::string>& also) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    if (is_passed(text.substr(0, text.find('=')), also)) {
      out.emplace_back(text);
    }
  }
  return out;
}

class command_runner::loop {
public:
  loop(program_sink sink, std::string lifeline_program)
      : sink_{std::move(sink)}, lifeline_program_{std::move(lifeline_program)} {
    thread_ = std::thread{[this] { run(); }};
  }
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;
  ~loop() {
    stop_ = true;
    wake();
    thread_.join();
  }

  void start(program_id id, program_spec spec) {
    orders_.start(id, std::move(spec));
    wake();
  }

  void cancel(program_id id) {
    orders_.cancel(id);
    wake();
  }

private:
  enum class part : std::uint8_t { input, output, errors, end };
  struct watched {
    program_id id;
    part what;
  };

  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = write(wake_.get(), &one, sizeof one);
  }

  void run() {
    // A program that closes its stdin early is no reason to die; other signals belong to the main thread.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    remove_left_command_folders();
    while (!stop_ || !programs_.empty()) {
      take_orders();
      wait_and_serve();
      give_up_on_stuck();
    }
  }

  void take_orders() {
    auto [to_start, to_cancel] = orders_.take();
    for (auto& [id, spec] : to_start) {
      begin(id, std::move(spec));
    }
    const auto now = steady::now();
    for (const auto id : to_cancel) {
      if (const auto it = programs_.find(id); it != programs_.end()) {
        it->second->stop(program_end::cancelled, now);
      }
    }
    if (stop_) {
      for (auto& [id, program] : programs_) {
        program->stop(program_end::cancelled, now);
      }
    }
  }

  void begin(program_id id, program_spec spec) {
    auto program = std::make_unique<running_program>();
    auto failure = program->start(id, std::move(spec), lifeline_program_);
    if (failure.empty()) {
      programs_.emplace(id, std::move(program));
    } else {
      sink_(program_ended{id, program_end::not_started, program->errno_of_start(), std::move(failure)});
    }
  }

  void wait_and_serve() {
    std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
    std::vector<watched> who{{0, part::end}};
    bool has_stopping = false;
    for (const auto& [id, program] : programs_) {
      const auto watch = [&, id = id](int fd, short events, part what) {
        if (fd >= 0) {
          fds.push_back({fd, events, 0});
          who.push_back({id, what});
        }
      };
      watch(program->input_fd(), POLLOUT, part::input);
      watch(program->output_fd(), POLLIN, part::output);
      watch(program->errors_fd(), POLLIN, part::errors);
      watch(program->pid_fd(), POLLIN, part::end);
      has_stopping = has_stopping || program->is_stopping();
    }
    poll(fds.data(), fds.size(), has_stopping ? poll_ms_while_stopping : poll_ms);
    if (fds[0].revents != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = read(wake_.get(), &count, sizeof count);
    }
    for (std::size_t i = 1; i < fds.size(); ++i) {
      if (fds[i].revents != 0) {
        serve(who[i]);
      }
    }
  }

  void serve(const watched& x) {
    const auto it = programs_.find(x.id);
    if (it == programs_.end()) {
      return;
    }
    switch (x.what) {
      case part::input:
        return it->second->on_writable();
      case part::output:
        return it->second->on_output(sink_, steady::now());
      case part::errors:
        return it->second->on_errors(sink_, steady::now());
      case part::end:
        return end(x.id);
    }
  }

  void end(program_id id) {
    const auto program = std::move(programs_.at(id));
    programs_.erase(id);
    auto ended = program->finish(sink_, steady::now());
    sink_(std::move(ended));
  }

  void give_up_on_stuck() {
    const auto now = steady::now();
    std::vector<program_id> stuck;
    for (const auto& [id, program] : programs_) {
      if (program->is_stopping() && now - *program->stopped_at() >= kill_timeout) {
        stuck.push_back(id);
      }
    }
    for (const auto id : stuck) {
      end(id);
    }
  }

  program_sink sink_;
  std::string lifeline_program_;
  owned_fd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  order_box<program_spec> orders_;
  std::map<program_id, std::unique_ptr<running_program>> programs_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

command_runner::command_runner(program_sink sink, std::string lifeline_program)
    : loop_{std::make_unique<loop>(std::move(sink), std::move(lifeline_program))} {}

command_runner::~command_runner() = default;

void command_runner::start(program_id id, program_spec spec) {
  loop_->start(id, std::move(spec));
}

void command_runner::cancel(program_id id) {
  loop_->cancel(id);
}

}  // namespace regatta
