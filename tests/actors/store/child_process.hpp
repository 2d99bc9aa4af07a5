// SPDX-License-Identifier: Apache-2.0
/// \file
/// A test's own program as a child, its stdout in a pipe.
#pragma once

#include "tests/actors/store/skip.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace regatta::test {

class child_process {
public:
  child_process(const std::string& name, std::vector<std::string> arguments) {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    auto program = environment("REGATTA_BIN_DIR") + "/" + name;
    std::vector<char*> argv = {program.data()};
    for (auto& x : arguments) {
      argv.push_back(x.data());
    }
    argv.push_back(nullptr);
    BOOST_REQUIRE(::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    out_ = ends[0];
  }
  child_process(child_process&& x) noexcept
      : said{std::move(x.said)}, pid_{std::exchange(x.pid_, -1)}, out_{std::exchange(x.out_, -1)} {}
  child_process& operator=(child_process&&) = delete;
  ~child_process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (out_ >= 0) {
      ::close(out_);
    }
  }

  /// Blocks until something was said; false at its end.
  bool read_some() {
    std::array<char, 4096> buffer{};
    const auto size = ::read(out_, buffer.data(), buffer.size());
    said.append(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return size > 0;
  }
  void kill_hard() { ::kill(pid_, SIGKILL); }
  /// Everything that it said, and its wait status.
  int join() {
    while (read_some()) {
    }
    int status = -1;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

  std::string said;

private:
  pid_t pid_ = -1;
  int out_ = -1;
};

}  // namespace regatta::test
