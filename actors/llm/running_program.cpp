// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/running_program.hpp"

#include "actors/llm/utf8_text.hpp"
#include "messages/limits.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace regatta {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// What is kept of stderr: the last of it says what went wrong. The same as a repair prompt shows of a candidate.
constexpr std::size_t kept_errors = feedback_output_tail;
/// A chatty stderr is a sign of life, but not worth a message per line.
constexpr auto life_interval = 1s;
/// Above the descriptors that the program gets (0 to 4), so that no dup2 overwrites the source of a later one.
constexpr int lowest_fd = 10;

struct two_ends {
  owned_fd read;
  owned_fd write;
};

bool open_pipe(two_ends& out) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return false;
  }
  const owned_fd low_read{ends[0]};
  const owned_fd low_write{ends[1]};
  out.read = owned_fd{fcntl(ends[0], F_DUPFD_CLOEXEC, lowest_fd)};
  out.write = owned_fd{fcntl(ends[1], F_DUPFD_CLOEXEC, lowest_fd)};
  return out.read.is_open() && out.write.is_open();
}

void make_nonblocking(const owned_fd& fd) {
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

std::string text_of_errno(int number) {
  return std::system_category().message(number);
}

/// Reads what is there, until `take` says no; closes at the end of the file.
void drain(owned_fd& fd, const std::function<bool(std::string_view)>& take) {
  std::array<char, 16 * KiB> buffer{};
  // Bounded, so that an endless printer does not keep the thread from the others.
  for (int turn = 0; turn < 32 && fd.is_open(); ++turn) {
    const auto got = read(fd.get(), buffer.data(), buffer.size());
    if (got > 0 && !take({buffer.data(), static_cast<std::size_t>(got)})) {
      return;
    }
    if (got < 0 && errno == EAGAIN) {
      return;
    }
    if (got == 0 || (got < 0 && errno != EINTR)) {
      fd.reset();
    }
  }
}

/// posix_spawn's two helpers, released together.
struct spawn_settings {
  spawn_settings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // A session of its own: Ctrl-C at our terminal is ours to handle.
    posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  spawn_settings(const spawn_settings&) = delete;
  spawn_settings& operator=(const spawn_settings&) = delete;
  ~spawn_settings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

std::string running_program::start(program_id id, program_spec spec, const std::string& lifeline_program) {
  id_ = id;
  spec_ = std::move(spec);
  if (spec_.argv.empty()) {
    return "argv is empty";
  }
  if (spec_.argv[0].find('/') != std::string::npos) {
    std::error_code ignored;
    spec_.argv[0] = fs::absolute(spec_.argv[0], ignored).string();
  }
  if (spec_.working_dir.empty()) {
    if (!own_folder_.make()) {
      errno_of_start_ = errno;
      return "cannot make a folder to run in: " + text_of_errno(errno_of_start_);
    }
    spec_.working_dir = own_folder_.path();
  }
  return spawn(lifeline_program);
}

std::string running_program::spawn(const std::string& lifeline_program) {
  two_ends input;
  two_ends output;
  two_ends errors;
  two_ends lifeline;
  two_ends status;
  if (!open_pipe(input) || !open_pipe(output) || !open_pipe(errors) || !open_pipe(lifeline) || !open_pipe(status)) {
    errno_of_start_ = errno;
    return "cannot make a pipe: " + text_of_errno(errno_of_start_);
  }
  spawn_settings settings;
  posix_spawn_file_actions_addchdir_np(&settings.actions, spec_.working_dir.c_str());
  const std::array given{input.read.get(), output.write.get(), errors.write.get(), lifeline.read.get(),
                         status.write.get()};
  for (std::size_t fd = 0; fd < given.size(); ++fd) {
    posix_spawn_file_actions_adddup2(&settings.actions, given[fd], static_cast<int>(fd));
  }
  std::vector<std::string> argv{lifeline_program};
  argv.insert(argv.end(), spec_.argv.begin(), spec_.argv.end());
  auto environment = program_environment(spec_.pass_environment);
  errno_of_start_ = posix_spawn(&pid_, lifeline_program.c_str(), &settings.actions, &settings.attributes,
                                pointers(argv).data(), pointers(environment).data());
  if (errno_of_start_ != 0) {
    pid_ = -1;
    return "cannot start " + lifeline_program + " in " + spec_.working_dir + ": " + text_of_errno(errno_of_start_);
  }
  pid_fd_ = owned_fd{static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))};
  input_ = std::move(input.write);
  output_ = std::move(output.read);
  errors_ = std::move(errors.read);
  lifeline_ = std::move(lifeline.write);
  status_ = std::move(status.read);
  for (const auto* fd : {&input_, &output_, &errors_, &status_}) {
    make_nonblocking(*fd);
  }
  return {};
}

void running_program::on_writable() {
  while (written_ < spec_.input.size()) {
    const auto put = write(input_.get(), spec_.input.data() + written_, spec_.input.size() - written_);
    if (put > 0) {
      written_ += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      break;  // It does not want to read all of it: its right.
    }
  }
  input_.reset();
}

void running_program::on_output(const sink& out, time_point now) {
  drain(output_, [&](std::string_view bytes) {
    output_bytes_ += bytes.size();
    if (is_stopping()) {
      return true;
    }
    if (output_bytes_ > reply_bytes) {
      stop(program_end::output_too_large, now);
      return false;
    }
    out(program_output{id_, std::string{bytes}});
    return true;
  });
}

void running_program::on_errors(const sink& out, time_point now) {
  drain(errors_, [&](std::string_view bytes) {
    last_errors_ += bytes;
    last_errors_.erase(0, last_errors_.size() - text_tail(last_errors_, kept_errors).size());
    return true;
  });
  if (now - last_life_ >= life_interval && !is_stopping()) {
    last_life_ = now;
    out(program_output{id_, ""});
  }
}

void running_program::stop(program_end why, time_point now) {
  if (!is_stopping()) {
    stopped_at_ = now;
    stop_reason_ = why;
    lifeline_.reset();
    input_.reset();
  }
}

program_ended running_program::finish(const sink& out, time_point now) {
  // Kills it only where it could not finish by itself in time; it holds no state worth keeping.
  kill(pid_, SIGKILL);
  int lifeline_status = 0;
  while (waitpid(pid_, &lifeline_status, 0) < 0 && errno == EINTR) {
  }
  on_output(out, now);
  on_errors(out, now);
  const bool is_clean = WIFEXITED(lifeline_status);
  auto ended = told_end();
  if (is_stopping()) {
    ended.how = is_clean ? stop_reason_ : program_end::lost;
  }
  ended.id = id_;
  ended.errors = ended.how == program_end::not_started
                     ? "cannot start " + spec_.argv[0] + ": " + text_of_errno(ended.code)
                     : repair_utf8(last_errors_);
  return ended;
}

program_ended running_program::told_end() {
  std::array<char, 64> line{};
  const auto got = read(status_.get(), line.data(), line.size() - 1);
  program_ended out;
  char how = 0;
  if (got <= 0 || std::sscanf(line.data(), "%c %d", &how, &out.code) != 2) {
    return out;
  }
  out.how = how == 'e' ? program_end::exited : how == 's' ? program_end::signalled : program_end::not_started;
  return out;
}

}  // namespace regatta
