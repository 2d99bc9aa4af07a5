// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/judge/scripted_side.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace regatta::judge::testing {

std::string frame_of(const std::string& head, const std::string& body) {
  const auto head_bytes = static_cast<std::uint32_t>(head.size());
  const std::uint64_t body_size = body.size();
  std::string out(frame_prefix_bytes, '\0');
  std::memcpy(out.data(), &head_bytes, sizeof head_bytes);
  std::memcpy(out.data() + 4, &body_size, sizeof body_size);
  return out + head + body;
}

std::string frame_of(const message& x) {
  return frame_of(x.head.dump(), x.body);
}

bool script_pipes::read_all(char* out, std::size_t size) {
  while (size > 0) {
    const auto got = ::read(read_fd_, out, size);
    if (got <= 0) {
      return false;
    }
    out += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool script_pipes::read_question(message& out) {
  std::array<char, frame_prefix_bytes> prefix{};
  if (!read_all(prefix.data(), prefix.size())) {
    return false;
  }
  std::uint32_t head_bytes = 0;
  std::uint64_t body_size = 0;
  std::memcpy(&head_bytes, prefix.data(), sizeof head_bytes);
  std::memcpy(&body_size, prefix.data() + 4, sizeof body_size);
  std::string head(head_bytes, '\0');
  out.body.assign(body_size, '\0');
  if (!read_all(head.data(), head.size()) || !read_all(out.body.data(), out.body.size())) {
    return false;
  }
  out.head = json::parse(head);
  return true;
}

bool script_pipes::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = ::write(write_fd_, bytes.data(), bytes.size());
    if (size <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

void script_pipes::stay_silent() {
  // No events asked for: only the other end's closing wakes it.
  pollfd one{write_fd_, 0, 0};
  ::poll(&one, 1, -1);
}

scripted_side::scripted_side(std::function<void(script_pipes&)> script) {
  std::signal(SIGPIPE, SIG_IGN);
  int questions[2], answers[2];
  if (::pipe2(questions, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) {
    throw std::runtime_error{"no pipes"};
  }
  ours_ = {answers[0], questions[1]};
  const int read_fd = questions[0], write_fd = answers[1];
  thread_ = std::thread{[script = std::move(script), read_fd, write_fd] {
    script_pipes pipes{read_fd, write_fd};
    script(pipes);
    ::close(read_fd);
    ::close(write_fd);
  }};
}

scripted_side::~scripted_side() {
  ::close(ours_[0]);
  ::close(ours_[1]);
  thread_.join();
}

std::function<void(script_pipes&)> says(message hello, std::function<message(const message&)> answer) {
  return [hello = std::move(hello), answer = std::move(answer)](script_pipes& pipes) {
    message question;
    if (!pipes.send(hello)) {
      return;
    }
    while (pipes.read_question(question) && pipes.send(answer(question))) {
    }
  };
}

}  // namespace regatta::judge::testing
