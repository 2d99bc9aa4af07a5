// SPDX-License-Identifier: Apache-2.0
#include "cli/control_socket.hpp"

#include "messages/error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace regatta::cli {

namespace fs = std::filesystem;

namespace {

/// A request is one word; an answer a few lines.
constexpr std::size_t request_bytes = 256;
constexpr std::size_t answer_bytes = std::size_t{64} * 1024;
/// A client asks as soon as it is connected.
constexpr int ask_ms = 200;
/// A server answers between two redraws; much longer only if its terminal is stopped.
constexpr int answer_ms = 5'000;

class descriptor {
public:
  explicit descriptor(int fd) : fd_{fd} {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

private:
  int fd_;
};

/// A socket's name may have 107 bytes only, a state folder's any number: the way leads through the folder's descriptor.
sockaddr_un address_of(int folder, const std::string& name) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  const auto path = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  std::strncpy(out.sun_path, path.c_str(), sizeof out.sun_path - 1);
  return out;
}

std::string socket_name(const race_id& race) {
  return race.text + ".sock";
}

/// What comes until a line end, the end of the stream, `most` bytes or `ms` of silence.
std::string read_line(int fd, std::size_t most, int ms, bool ends_at_newline) {
  std::string out;
  pollfd ready{fd, POLLIN, 0};
  while (out.size() < most && ::poll(&ready, 1, ms) == 1) {
    char piece[4096];
    const auto got = ::recv(fd, piece, std::min(sizeof piece, most - out.size()), MSG_DONTWAIT);
    if (got <= 0) {
      break;
    }
    out.append(piece, static_cast<std::size_t>(got));
    if (ends_at_newline && out.find('\n') != std::string::npos) {
      break;
    }
  }
  return out;
}

/// By its other end, which may be gone without a word.
bool is_closed(int fd) {
  char byte = 0;
  const auto got = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/// Small enough for any socket buffer: a reader that has gone, or does not read, costs nothing.
void send_text(int fd, const std::string& text) {
  [[maybe_unused]] const auto sent = ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// The name is there, and no listener behind it.
bool is_left_behind(const sockaddr_un& address) {
  const descriptor probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  return probe.get() >= 0 &&
         ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

/// Else connecting would wait for ever while a stopped program's queue is full.
void limit_sends(int fd) {
  const timeval limit{answer_ms / 1'000, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/// Who listens at the other end.
pid_t listener_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

bool is_stopped(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string line;
  std::getline(file, line);
  // The program's name before it may hold anything.
  const auto name_end = line.rfind(')');
  return name_end != std::string::npos && line.substr(name_end).starts_with(") T");
}

caf::error io_error(const std::string& what) {
  return fail(ec::io_failed, what + ": " + std::strerror(errno));
}

}  // namespace

caf::expected<std::unique_ptr<control_server>> control_server::open(const std::string& state_dir, const race_id& race) {
  const auto path = state_dir + "/control";
  std::error_code ignored;
  fs::create_directories(path, ignored);
  ::chmod(path.c_str(), 0700);
  std::unique_ptr<control_server> out{new control_server};
  out->name_ = socket_name(race);
  out->folder_ = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (out->folder_ < 0) {
    return io_error(path);
  }
  out->fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto address = address_of(out->folder_, out->name_);
  // What a killed process left of this race is nobody's.
  if (out->fd_ >= 0 && is_left_behind(address)) {
    ::unlinkat(out->folder_, out->name_.c_str(), 0);
  }
  // The program's umask is 077, so the socket is born with mode 0600 at most.
  if (out->fd_ < 0 || ::bind(out->fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(out->fd_, 8) != 0) {
    return io_error(path + "/" + out->name_);
  }
  return out;
}

control_server::~control_server() {
  if (folder_ >= 0) {
    ::unlinkat(folder_, name_.c_str(), 0);
    ::close(folder_);
  }
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void control_server::serve(const std::function<std::string(const std::string&)>& answer) {
  const descriptor client{::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)};
  if (client.get() < 0) {
    return;
  }
  auto request = read_line(client.get(), request_bytes, ask_ms, true);
  if (request.ends_with('\n')) {
    request.pop_back();
    send_text(client.get(), answer(request));
  }
}

std::vector<race_id> controlled_races(const std::string& state_dir) {
  std::vector<race_id> out;
  std::error_code error;
  for (fs::directory_iterator at{state_dir + "/control", error}, end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".sock") {
      out.emplace_back(at->path().stem().string());
    }
  }
  // Ids begin with the date.
  std::sort(out.rbegin(), out.rend());
  return out;
}

caf::expected<std::string> ask_race(const std::string& state_dir, const race_id& race, const std::string& request) {
  const auto not_running = [&] { return fail(ec::not_found, race.text + " is not running"); };
  const descriptor folder{::open((state_dir + "/control").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (folder.get() < 0) {
    return not_running();
  }
  const descriptor connection{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto address = address_of(folder.get(), socket_name(race));
  limit_sends(connection.get());
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN) {
      return fail(ec::refused, race.text + " does not answer, and this request has not reached it: too many wait");
    }
    if (errno == ECONNREFUSED) {
      ::unlinkat(folder.get(), socket_name(race).c_str(), 0);
    }
    return errno == ENOENT || errno == ECONNREFUSED ? not_running() : io_error(race.text);
  }
  send_text(connection.get(), request + "\n");
  const auto listener = listener_of(connection.get());
  auto answer = read_line(connection.get(), answer_bytes, is_stopped(listener) ? ask_ms : answer_ms, false);
  if (answer.empty() && is_closed(connection.get())) {
    // A killed program's socket takes connections until the kernel has come to it.
    return not_running();
  }
  if (answer.empty()) {
    const auto pid = std::to_string(listener);
    return fail(ec::refused, race.text + " does not answer: its process, pid " + pid +
                                 (is_stopped(listener) ? ", is stopped (kill -CONT " + pid + ")" : ", is silent") +
                                 "; this request is left with it, for when it goes on");
  }
  return answer;
}

}  // namespace regatta::cli
