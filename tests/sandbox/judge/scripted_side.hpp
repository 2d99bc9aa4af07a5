// SPDX-License-Identifier: Apache-2.0
/// \file
/// A side made of a function: it gets questions and says what is answered, over real pipes in a thread of its own.
#pragma once

#include "sandbox/judge/channel.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace regatta::judge::testing {

using json = nlohmann::json;

struct message {
  json head;
  std::string body;
};

/// As it goes over a pipe.
std::string frame_of(const std::string& head, const std::string& body);
std::string frame_of(const message& x);

/// What a script may do besides answering.
class script_pipes {
public:
  script_pipes(int read_fd, int write_fd) : read_fd_(read_fd), write_fd_(write_fd) {}
  /// False at the end.
  bool read_question(message& out);
  /// False: nobody listens.
  bool send(std::string_view bytes);
  bool send(const message& x) { return send(frame_of(x)); }
  /// Waits until the other side has closed.
  void stay_silent();

private:
  bool read_all(char* out, std::size_t size);
  int read_fd_;
  int write_fd_;
};

/// Runs `script` until it returns or the pipes close; then its ends are closed.
class scripted_side {
public:
  explicit scripted_side(std::function<void(script_pipes&)> script);
  scripted_side(const scripted_side&) = delete;
  scripted_side& operator=(const scripted_side&) = delete;
  ~scripted_side();

  int read_fd() const { return ours_[0]; }
  int write_fd() const { return ours_[1]; }
  channel open(side who, std::uint64_t body_limit = 1 << 20) { return {who, ours_[0], ours_[1], body_limit}; }

private:
  std::array<int, 2> ours_{-1, -1};
  std::thread thread_;
};

/// Says `hello`, then answers each question by `answer`.
std::function<void(script_pipes&)> says(message hello, std::function<message(const message&)> answer);

}  // namespace regatta::judge::testing
