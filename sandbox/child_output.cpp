// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child_output.hpp"

#include "messages/limits.hpp"
#include "sandbox/wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace regatta::sandbox {

namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const auto& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

int spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment, int out, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  auto arguments = pointers_to(argv);
  auto variables = pointers_to(environment);
  const int error = ::posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, arguments.data(), variables.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// False if the time was up first.
bool read_all(int from, std::chrono::steady_clock::time_point until, std::string& text) {
  constexpr std::size_t most = 4 * MiB;
  char piece[4096];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd end{from, POLLIN, 0};
    if (left <= 0 || ::poll(&end, 1, static_cast<int>(left)) == 0) {
      return false;
    }
    const auto size = ::read(from, piece, sizeof piece);
    if (size == 0 || (size < 0 && errno != EINTR)) {
      return true;
    }
    if (size > 0 && text.size() < most) {
      text.append(piece, static_cast<std::size_t>(size));
    }
  }
}

}  // namespace

child_output run_program(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                         std::chrono::milliseconds limit) {
  child_output result;
  unique_fd ours, theirs;
  pid_t pid = -1;
  if (!make_pipe(ours, theirs)) {
    result.problem = std::strerror(errno);
    return result;
  }
  if (const int error = spawn(argv, environment, theirs.get(), pid); error != 0) {
    result.problem = std::strerror(error);
    return result;
  }
  theirs.reset();
  const bool in_time = read_all(ours.get(), std::chrono::steady_clock::now() + limit, result.out);
  if (!in_time) {
    ::kill(-pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.has_run = in_time && WIFEXITED(status);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.problem = result.has_run ? "" : in_time ? "killed by a signal" : "no end within the time limit";
  return result;
}

}  // namespace regatta::sandbox
