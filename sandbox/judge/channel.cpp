// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

namespace regatta::judge {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// What a pipe may hold at once. A guess at a good size; where the host allows less, 64 KiB do, too.
constexpr int pipe_bytes = 1 << 20;

void prepare(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    throw std::runtime_error{"descriptor " + std::to_string(fd) + ": " + std::strerror(errno)};
  }
  (void)::fcntl(fd, F_SETPIPE_SZ, pipe_bytes);
}

template <class T>
T number_at(const std::byte* in) {
  T x;
  std::memcpy(&x, in, sizeof x);
  return x;
}

}  // namespace

channel::channel(side who, int read_fd, int write_fd, std::uint64_t body_limit)
    : who_(who), read_fd_(read_fd), write_fd_(write_fd), body_limit_(body_limit) {
  prepare(read_fd);
  prepare(write_fd);
}

void channel::arm(milliseconds patience) {
  armed_ = patience;
  patience_ = patience;
}

void channel::end(ending judgement, std::string reason) {
  is_broken_ = true;
  throw session_end{judgement, std::move(reason), {}};
}

void channel::fail(const std::string& what) {
  end(blame_of(who_), to_string(who_) + " side: " + plain_line(what, 300));
}

void channel::gone(const char* what) {
  end(who_ == side::reference ? ending::reference_gone : ending::candidate_gone,
      "the " + to_string(who_) + " side ended before " + what);
}

void channel::wait_for(int fd, short events, const char* what) {
  const auto start = steady_clock::now();
  for (;;) {
    const auto left = patience_ - (steady_clock::now() - start);
    if (left <= steady_clock::duration::zero()) {
      patience_ = {};
      end(ending::timed_out,
          "the " + to_string(who_) + " side was silent for " + std::to_string(armed_.count()) + " ms before " + what);
    }
    pollfd one{fd, events, 0};
    const auto timeout = std::min<std::int64_t>(std::chrono::ceil<milliseconds>(left).count(), 1 << 30);
    const int ready = ::poll(&one, 1, static_cast<int>(timeout));
    if (ready < 0 && errno != EINTR) {
      throw std::runtime_error{std::string{"poll: "} + std::strerror(errno)};
    }
    if (ready > 0) {
      patience_ -= steady_clock::now() - start;
      return;
    }
  }
}

void channel::read_bytes(std::span<std::byte> out, const char* what) {
  while (!out.empty()) {
    const auto size = ::read(read_fd_, out.data(), out.size());
    if (size > 0) {
      out = out.subspan(static_cast<std::size_t>(size));
    } else if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      wait_for(read_fd_, POLLIN, what);
    } else if (size == 0 || errno != EINTR) {
      gone(what);
    }
  }
}

void channel::write_bytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto size = ::write(write_fd_, bytes.data(), bytes.size());
    if (size >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(size));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_for(write_fd_, POLLOUT, "it took the question");
    } else if (errno != EINTR) {
      gone("it took the question");
    }
  }
}

std::string channel::read_head() {
  if (body_left_ != 0) {
    throw std::logic_error{"a body was left unread"};
  }
  std::array<std::byte, frame_prefix_bytes> prefix{};
  read_bytes(prefix, "it answered");
  const auto head_bytes = number_at<std::uint32_t>(prefix.data());
  const auto body_bytes = number_at<std::uint64_t>(prefix.data() + 4);
  if (head_bytes < 2 || head_bytes > most_head_bytes) {
    fail("a frame's head of " + std::to_string(head_bytes) + " bytes");
  }
  if (body_bytes > body_limit_) {
    const auto what = std::to_string(body_bytes) + " bytes of tensors in one answer, the limit is " +
                      std::to_string(body_limit_);
    if (who_ == side::reference) {
      end(ending::too_large, "the reference sends " + what);
    }
    fail(what);
  }
  std::string head(head_bytes, '\0');
  read_bytes(std::as_writable_bytes(std::span{head}), "its answer was whole");
  body_left_ = body_bytes;
  return head;
}

void channel::read(std::span<std::byte> out) {
  if (out.size() > body_left_) {
    throw std::logic_error{"more asked of a body than it has"};
  }
  read_bytes(out, "its answer was whole");
  body_left_ -= out.size();
}

void channel::skip_body() {
  std::vector<std::byte> piece(std::min<std::uint64_t>(body_left_, 1 << 20));
  while (body_left_ > 0) {
    read(std::span{piece}.first(std::min<std::uint64_t>(body_left_, piece.size())));
  }
}

void channel::send_head(std::string_view head, std::uint64_t body_bytes) {
  if (head.size() > most_head_bytes) {
    throw session_end{ending::too_large, "a question's head is larger than a frame allows", {}};
  }
  const auto head_bytes = static_cast<std::uint32_t>(head.size());
  std::array<std::byte, frame_prefix_bytes> prefix{};
  std::memcpy(prefix.data(), &head_bytes, sizeof head_bytes);
  std::memcpy(prefix.data() + 4, &body_bytes, sizeof body_bytes);
  write_bytes(prefix);
  write_bytes(std::as_bytes(std::span{head}));
}

void channel::send_body(std::span<const std::byte> bytes) {
  write_bytes(bytes);
}

}  // namespace regatta::judge
