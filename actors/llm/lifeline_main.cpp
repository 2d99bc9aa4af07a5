// SPDX-License-Identifier: Apache-2.0
/// \file
/// `regatta-lifeline PROGRAM ARGS…`: runs a program and lets nothing of it outlive our caller.
///
/// Descriptor 3 is the lifeline: when its other end closes (cancel, or the caller died, however), every descendant is
/// killed, those that called setsid or were orphaned included: as their subreaper we are their next parent. The same
/// happens when the program itself has ended. Descriptor 4 tells how: `x ERRNO` (could not start), `e STATUS`, `s
/// SIGNAL`. Exits when nothing is left.
///
/// It is two processes, ourselves and a guard between us and the program, both of them subreapers: whichever is killed,
/// the other one ends what is left. A stopped one goes on when its parent dies, and sees why.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int lifeline_fd = 3;
constexpr int status_fd = 4;
/// Only bounds a lost SIGCHLD.
constexpr int kill_pass_ms = 10;

void tell(char how, int number) {
  char line[32];
  const int size = std::snprintf(line, sizeof line, "%c %d\n", how, number);
  // The caller may be gone; then nobody wants to know.
  [[maybe_unused]] const auto written = write(status_fd, line, static_cast<std::size_t>(size));
}

[[noreturn]] void become(char** argv) {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  close(lifeline_fd);
  fcntl(status_fd, F_SETFD, FD_CLOEXEC);  // and with it go all that we have opened ourselves
  execvp(argv[0], argv);
  tell('x', errno);
  _exit(127);
}

/// False if the kernel has no such file (CONFIG_PROC_CHILDREN).
bool kill_listed_children() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
  std::FILE* list = std::fopen(path, "re");
  if (list == nullptr) {
    return false;
  }
  int pid = 0;
  while (std::fscanf(list, "%d", &pid) == 1) {
    kill(pid, SIGKILL);
  }
  std::fclose(list);
  return true;
}

int parent_of(const char* pid) {
  char path[300];
  std::snprintf(path, sizeof path, "/proc/%s/stat", pid);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) {
    return 0;
  }
  char line[512];
  const std::size_t size = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  line[size] = '\0';
  // The name may hold anything, parentheses too: fields begin after the last one.
  const char* after_name = std::strrchr(line, ')');
  int parent = 0;
  char state = 0;
  return after_name != nullptr && std::sscanf(after_name + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

void kill_scanned_children() {
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc == nullptr ? nullptr : readdir(proc)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == getpid()) {
      kill(std::atoi(entry->d_name), SIGKILL);
    }
  }
  if (proc != nullptr) {
    closedir(proc);
  }
}

/// Only direct children are killed: their pids cannot be reused before we reap them. What they leave behind becomes
/// our child, so the passes go on until there is none.
void kill_all_descendants(int child_signals) {
  for (;;) {
    if (!kill_listed_children()) {
      kill_scanned_children();
    }
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) {
      return;
    }
    pollfd wait{child_signals, POLLIN, 0};
    if (poll(&wait, 1, kill_pass_ms) > 0) {
      signalfd_siginfo info;
      [[maybe_unused]] const auto got = read(child_signals, &info, sizeof info);
    }
  }
}

/// True when `child` has ended.
bool reap(pid_t child, int& status) {
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == child) {
      return true;
    }
  }
  return false;
}

/// True when `child` has ended; false when the lifeline was cut, or the other end of `parent` (-1: none) is gone.
bool watch(pid_t child, int child_signals, int parent, int& status) {
  for (;;) {
    pollfd fds[3]{{lifeline_fd, POLLIN, 0}, {child_signals, POLLIN, 0}, {parent, POLLIN, 0}};
    if (poll(fds, 3, -1) < 0 && errno != EINTR) {
      return false;
    }
    if (fds[1].revents != 0) {
      signalfd_siginfo info;
      [[maybe_unused]] const auto got = read(child_signals, &info, sizeof info);
      if (reap(child, status)) {
        return true;
      }
    }
    if (fds[0].revents != 0 || fds[2].revents != 0) {
      return false;
    }
  }
}

/// Their other ends must see end-of-file when the program closes them, not when we do.
void close_streams() {
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
}

void become_reaper() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGCONT);
}

[[noreturn]] void guard(char** argv, int child_signals, int parent) {
  become_reaper();
  const pid_t main_program = fork();
  if (main_program == 0) {
    become(argv);
  }
  if (main_program < 0) {
    tell('x', errno);
    _exit(1);
  }
  close_streams();
  int status = 0;
  if (watch(main_program, child_signals, parent, status)) {
    WIFEXITED(status) ? tell('e', WEXITSTATUS(status)) : tell('s', WTERMSIG(status));
  }
  kill_all_descendants(child_signals);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: regatta-lifeline PROGRAM [ARGS…]; descriptors 3 and 4 must be open\n", stderr);
    return 2;
  }
  become_reaper();
  // Whoever wants us gone closes the lifeline; a signal to the group must not leave the program unwatched.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const int child_signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  int alive[2]{-1, -1};
  const bool is_ready = child_signals >= 0 && pipe2(alive, O_CLOEXEC) == 0;
  const pid_t guarded = is_ready ? fork() : -1;
  if (guarded == 0) {
    close(alive[1]);
    guard(argv + 1, child_signals, alive[0]);
  }
  if (guarded < 0) {
    tell('x', errno);
    return 1;
  }
  close(alive[0]);
  close_streams();
  int status = 0;
  watch(guarded, child_signals, -1, status);
  kill_all_descendants(child_signals);
  return 0;
}
