// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program_run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace regatta::test {

namespace {

void pause_shortly() {
  ::poll(nullptr, 0, 10);
}

template <class Done>
bool within(std::chrono::seconds limit, Done done) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    pause_shortly();
  }
  return true;
}

void redirect(const std::string& path, int to) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(fd, to);
  ::close(fd);
}

[[noreturn]] void become(const std::string& folder, const std::vector<std::string>& argv,
                         const std::vector<std::string>& variables) {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  for (const auto& text : argv) {
    arguments.push_back(const_cast<char*>(text.c_str()));
  }
  for (const auto& text : variables) {
    environment.push_back(const_cast<char*>(text.c_str()));
  }
  arguments.push_back(nullptr);
  environment.push_back(nullptr);
  redirect("/dev/null", STDIN_FILENO);
  redirect(folder + "/out", STDOUT_FILENO);
  redirect(folder + "/err", STDERR_FILENO);
  if (::chdir(folder.c_str()) == 0) {
    ::execve(arguments.front(), arguments.data(), environment.data());
  }
  ::_exit(127);
}

pid_t parent_of(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  const auto end = text.rfind(')');
  if (end == std::string::npos) {
    return -1;
  }
  std::istringstream rest{text.substr(end + 1)};
  std::string state;
  pid_t parent = -1;
  rest >> state >> parent;
  return parent;
}

}  // namespace

program_run::program_run(const std::string& folder, const std::vector<std::string>& argv,
                         const std::map<std::string, std::string>& variables)
    : folder_{folder} {
  std::vector<std::string> environment{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + folder};
  for (const auto& [name, value] : variables) {
    environment.push_back(name + "=" + value);
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    become(folder, argv, environment);
  }
}

program_run::~program_run() {
  if (!has_ended()) {
    ::kill(pid_, SIGKILL);
    wait();
  }
}

bool program_run::has_ended() {
  if (!is_reaped_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) {
    is_reaped_ = true;
  }
  return is_reaped_;
}

int program_run::wait(std::chrono::seconds limit) {
  if (!within(limit, [this] { return has_ended(); })) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    is_reaped_ = true;
    return -1;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

void program_run::signal(int number) const {
  ::kill(pid_, number);
}

bool program_run::waits_for(const std::string& text, std::chrono::seconds limit) {
  bool is_there = false;
  within(limit, [&] {
    const bool is_over = has_ended();
    is_there = err().find(text) != std::string::npos;
    return is_there || is_over;
  });
  return is_there;
}

std::string program_run::out() const {
  return read_file(folder_ + "/out");
}
std::string program_run::err() const {
  return read_file(folder_ + "/err");
}

std::vector<pid_t> program_run::descendants() const {
  std::vector<pid_t> out{pid_};
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
      const auto name = entry.path().filename().string();
      const auto pid = static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10));
      if (pid > 0 && parent_of(pid) == out[i]) {
        out.push_back(pid);
      }
    }
  }
  out.erase(out.begin());
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::string regatta_program() {
  const char* folder = std::getenv("REGATTA_BIN_DIR");
  return std::string{folder == nullptr ? "." : folder} + "/regatta";
}

std::string source_path(const std::string& name) {
  const char* folder = std::getenv("REGATTA_SOURCE_DIR");
  return std::string{folder == nullptr ? "." : folder} + "/" + name;
}

}  // namespace regatta::test
