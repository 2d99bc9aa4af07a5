// SPDX-License-Identifier: Apache-2.0
#include "sandbox/forker_link.hpp"

#include "messages/install_paths.hpp"
#include "sandbox/forker.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/wire.hpp"
#include "sandbox/zygote.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace regatta::sandbox {

namespace {

/// Exec and dynamic linking of a small program; seconds only on a machine that is on its knees.
constexpr int hello_timeout_ms = 10'000;

/// From the end of its channel until it has removed its cgroups and left; a stopped one never does. Judgement.
constexpr int leave_timeout_ms = 3'000;

/// True once it has ended, reaped or not.
bool ends_within(pid_t pid, int ms) {
  const unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  pollfd end{process.get(), POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&end, 1, ms)) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

/// In a session of its own, so that Ctrl-C at our terminal does not reach it; signals as at boot.
int spawn(const forker_link::command& what, int channel, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 1);
  ::posix_spawn_file_actions_adddup2(&actions, channel, forker_channel_fd);
  if (what.filter >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, what.filter, zygote_filter_fd);
    ::posix_spawn_file_actions_addchdir_np(&actions, "/");
  }
  ::posix_spawn_file_actions_addclosefrom_np(&actions, what.filter >= 0 ? zygote_filter_fd + 1 : forker_channel_fd + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  const auto argv = linux_api::pointers_to(what.argv), environment = linux_api::pointers_to(what.environment);
  const int error = ::posix_spawn(&pid, what.program.c_str(), &actions, &attributes, argv.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

forker_link::~forker_link() {
  stop();
}

bool forker_link::open_channel(unique_fd& theirs, std::string& error) {
  if (!make_socket_pair(channel_, theirs)) {
    error = std::string{"socketpair: "} + std::strerror(errno);
    return false;
  }
  // dup2 onto itself would leave close-on-exec set, and onto a number in use would close that: keep ours free.
  if (theirs.get() <= zygote_filter_fd) {
    theirs.reset(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, zygote_filter_fd + 1));
  }
  return true;
}

bool forker_link::begin(const command& what, std::string& error) {
  is_reaped_later_ = true;
  unique_fd theirs;
  if (!open_channel(theirs, error)) {
    return false;
  }
  if (const int failed = spawn(what, theirs.get(), pid_); failed != 0) {
    pid_ = -1;
    channel_.reset();
    error = "start " + what.program + ": " + std::strerror(failed);
    return false;
  }
  set_nonblocking(channel_.get());
  return true;
}

bool forker_link::start(const std::string& program, const std::vector<std::string>& cgroups, std::string& error) {
  unique_fd theirs;
  if (!open_channel(theirs, error)) {
    return false;
  }
  // As an argument, too: a bundle's start script cannot hand argv[0] on.
  command what{program, {std::string{forker_name}, std::string{forker_name}}, {}, -1};
  what.argv.insert(what.argv.end(), cgroups.begin(), cgroups.end());
  if (const int failed = spawn(what, theirs.get(), pid_); failed != 0) {
    pid_ = -1;
    channel_.reset();
    error = "start forker " + program + ": " + std::strerror(failed);
    return false;
  }
  theirs.reset();
  pollfd answer{channel_.get(), POLLIN, 0};
  while (::poll(&answer, 1, hello_timeout_ms) < 0 && errno == EINTR) {
  }
  launch_reply hello;
  received message;
  if (answer.revents == 0 || !receive_message(channel_.get(), &hello, sizeof hello, message) ||
      message.size != sizeof hello || hello.error != static_cast<std::int32_t>(wire_version)) {
    error = "start forker " + program + ": it " +
            (answer.revents == 0 ? "did not answer"
             : message.size == 0 ? "ended at once"
                                 : "is of another version");
    kill();
    return false;
  }
  set_nonblocking(channel_.get());
  return true;
}

void forker_link::send(const launch_request& request, std::vector<unique_fd> descriptors) {
  unsent_.push_back({request, std::move(descriptors)});
  send_more();
}

void forker_link::send_more() {
  while (channel_ && !unsent_.empty()) {
    std::vector<int> numbers;
    for (const auto& fd : unsent_.front().descriptors) {
      numbers.push_back(fd.get());
    }
    if (!send_message(channel_.get(), &unsent_.front().request, sizeof(launch_request), numbers)) {
      if (errno != EAGAIN) {
        close();
      }
      return;
    }
    unsent_.pop_front();
  }
}

std::optional<forker_link::reply> forker_link::receive() {
  struct {
    launch_reply head;
    char text[longest_refusal];
  } bytes;
  received message;
  if (!channel_ || !receive_message(channel_.get(), &bytes, sizeof bytes, message)) {
    if (channel_ && errno != EAGAIN) {
      close();
    }
    return std::nullopt;
  }
  if (message.size < sizeof bytes.head) {
    close();
    return std::nullopt;
  }
  reply out;
  out.run = bytes.head.run;
  out.error = bytes.head.error;
  out.text.assign(bytes.text, message.size - sizeof bytes.head);
  if (!message.descriptors.empty()) {
    out.pidfd = std::move(message.descriptors.front());
  } else if (out.error == 0) {
    out.error = EPROTO;
  }
  return out;
}

void forker_link::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
  }
  close();
}

void forker_link::close() {
  channel_.reset();
  unsent_.clear();
  if (pid_ > 0) {
    // Hung up or dying; its runs die with it.
    ::kill(pid_, SIGKILL);
    if (!is_reaped_later_) {
      wait_for_end();
    }
  }
}

void forker_link::stop() {
  channel_.reset();
  unsent_.clear();
  if (pid_ > 0 && !ends_within(pid_, leave_timeout_ms)) {
    ::kill(pid_, SIGKILL);
  }
  wait_for_end();
}

bool forker_link::has_ended() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) {
    pid_ = -1;
  }
  return pid_ <= 0;
}

void forker_link::wait_for_end() {
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string find_forker() {
  const std::string name = "/regatta-sandbox";
  auto beside = program_dir() + name;
  if (::access(beside.c_str(), X_OK) == 0) {
    return beside;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders{path == nullptr ? "" : path};
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && ::access((folder + name).c_str(), X_OK) == 0) {
      return folder + name;
    }
  }
  return {};
}

}  // namespace regatta::sandbox
