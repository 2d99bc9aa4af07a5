// SPDX-License-Identifier: Apache-2.0
#include "tests/support/imposter/imposter_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

extern char** environ;  // NOLINT

namespace regatta::test {

namespace {

using steady = std::chrono::steady_clock;

std::string variable(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

/// In a file of its own, since a script may be larger than an argument.
std::string write_script(const std::string& text) {
  std::string path = variable("TMPDIR", "/tmp") + "/imposter-script-XXXXXX";
  const int fd = mkstemp(path.data());
  for (std::size_t done = 0; fd >= 0 && done < text.size();) {
    const auto put = write(fd, text.data() + done, text.size() - done);
    if (put <= 0) {
      break;
    }
    done += static_cast<std::size_t>(put);
  }
  close(fd);
  return path;
}

bool has_all(const std::string& line, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [&](const auto& x) { return line.find(x) != std::string::npos; });
}

}  // namespace

imposter::imposter(const std::string& script, const std::vector<std::string>& flags)
    : script_path_{write_script(script)} {
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  if (pipe2(input.data(), O_CLOEXEC) != 0 || pipe2(output.data(), O_CLOEXEC) != 0) {
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  // Debian's own Python: that is where python3-h2 is.
  std::vector<std::string> argv{variable("REGATTA_IMPOSTER_PYTHON", "/usr/bin/python3"),
                                variable("REGATTA_SOURCE_DIR", ".") + "/tests/support/imposter/imposter.py",
                                script_path_};
  argv.insert(argv.end(), flags.begin(), flags.end());
  std::vector<char*> pointers;
  for (auto& x : argv) {
    pointers.push_back(x.data());
  }
  pointers.push_back(nullptr);
  if (posix_spawn(&pid_, argv[0].c_str(), &actions, nullptr, pointers.data(), environ) != 0) {
    pid_ = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  close(input[0]);
  close(output[1]);
  in_ = input[1];
  out_ = output[0];
  const bool is_tls = std::find(flags.begin(), flags.end(), "--tls") != flags.end();
  if (const auto line = next_line(std::chrono::seconds{20}); line.starts_with("port ")) {
    port_ = std::atoi(line.c_str() + 5);
  }
  if (const auto line = is_tls ? next_line(std::chrono::seconds{5}) : ""; line.starts_with("ca ")) {
    ca_ = line.substr(3);
  }
}

imposter::~imposter() {
  close(in_);
  close(out_);
  if (pid_ > 0) {
    waitpid(pid_, nullptr, 0);
  }
  unlink(script_path_.c_str());
}

std::string imposter::base_url() const {
  return (ca_.empty() ? "http" : "https") + std::string{"://127.0.0.1:"} + std::to_string(port_) + "/v1";
}

std::string imposter::next_line(std::chrono::milliseconds timeout) {
  const auto deadline = steady::now() + timeout;
  for (;;) {
    if (const auto end = pending_.find('\n'); end != std::string::npos) {
      const auto line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now()).count();
    pollfd wait{out_, POLLIN, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0) {
      return {};
    }
    std::array<char, 65536> buffer{};
    const auto got = read(out_, buffer.data(), buffer.size());
    if (got <= 0) {
      return {};
    }
    pending_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string imposter::wait_for(const std::vector<std::string>& words, std::chrono::milliseconds timeout) {
  const auto lines = lines_until(words, timeout);
  return !lines.empty() && has_all(lines.back(), words) ? lines.back() : std::string{};
}

std::vector<std::string> imposter::lines_until(const std::vector<std::string>& words,
                                               std::chrono::milliseconds timeout) {
  const auto deadline = steady::now() + timeout;
  std::vector<std::string> out;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
    auto line = next_line(std::max(left, std::chrono::milliseconds{0}));
    if (line.empty()) {
      return out;
    }
    out.push_back(std::move(line));
    if (has_all(out.back(), words)) {
      return out;
    }
  }
}

}  // namespace regatta::test
