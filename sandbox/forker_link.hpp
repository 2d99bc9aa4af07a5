// SPDX-License-Identifier: Apache-2.0
/// \file
/// The runner's side of the forker. Used by the runner's thread only.
#pragma once

#include "sandbox/launch_plan.hpp"
#include "sandbox/unique_fd.hpp"

#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace regatta::sandbox {

class forker_link {
public:
  ~forker_link();

  /// Execs `program` as forker and waits for its hello. False and `error` filled if that fails.
  bool start(const std::string& program, const std::vector<std::string>& cgroups, std::string& error);

  /// Another program that is to become a forker, in "/". `filter` gets the number zygote_filter_fd.
  struct command {
    std::string program;
    std::vector<std::string> argv;
    std::vector<std::string> environment;
    int filter = -1;
  };
  /// Execs it and does not wait: its first reply, for run 0, is its hello or its refusal. What is killed later is
  /// reaped by `has_ended`.
  bool begin(const command& what, std::string& error);
  bool is_up() const { return static_cast<bool>(channel_); }
  /// For epoll; non-blocking.
  int channel() const { return channel_.get(); }

  /// Keeps the descriptors until they are sent.
  void send(const launch_request& request, std::vector<unique_fd> descriptors);
  bool has_unsent() const { return !unsent_.empty(); }
  void send_more();

  struct reply {
    std::uint64_t run = 0;
    int error = 0;
    unique_fd pidfd;
    std::string text;  ///< Of a refusal.
  };
  /// Empty if nothing has come. The forker is down (`is_up()` is false) if it hung up.
  std::optional<reply> receive();

  /// Kills it if it lives: all its runs die with it.
  void kill();
  /// Hangs up, so that it ends when its runs have, and waits for that.
  void stop();
  /// Of what was begun and killed; reaps it.
  bool has_ended();

private:
  bool open_channel(unique_fd& theirs, std::string& error);
  void close();
  void wait_for_end();

  struct unsent_request {
    launch_request request;
    std::vector<unique_fd> descriptors;
  };
  unique_fd channel_;
  pid_t pid_ = -1;
  bool is_reaped_later_ = false;
  std::deque<unsent_request> unsent_;
};

/// `regatta-sandbox` beside our own executable, else on PATH; empty if there is none.
std::string find_forker();

}  // namespace regatta::sandbox
