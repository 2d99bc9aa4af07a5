// SPDX-License-Identifier: Apache-2.0
/// \file
/// CONTROL SOCKET: how another process of the same user asks a running race for its status, or to stop. One socket per
/// race, `<state_dir>/control/<race id>.sock`, mode 0600 in a folder of mode 0700. One line asks, the answer follows,
/// the connection ends.
#pragma once

#include "messages/ids.hpp"

#include <caf/expected.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace regatta::cli {

class control_server {
public:
  /// Fails: `ec::io_failed`.
  static caf::expected<std::unique_ptr<control_server>> open(const std::string& state_dir, const race_id& race);

  control_server(const control_server&) = delete;
  control_server& operator=(const control_server&) = delete;
  /// Takes the socket away.
  ~control_server();

  /// Readable when somebody asks.
  int fd() const { return fd_; }
  /// Serves whoever waits. A client that is slow to ask is dropped: it must not hold up the race's display.
  void serve(const std::function<std::string(const std::string& request)>& answer);

private:
  control_server() = default;
  std::string name_;
  int folder_ = -1;
  int fd_ = -1;
};

/// Races that have a socket here, running or not, newest first.
std::vector<race_id> controlled_races(const std::string& state_dir);

/// Fails: `ec::not_found` if nobody serves this race (its socket, if it is left over, is taken away),
/// `ec::refused` if somebody does and is silent (stopped, say; what was asked stays in its queue), `ec::io_failed`.
caf::expected<std::string> ask_race(const std::string& state_dir, const race_id& race, const std::string& request);

}  // namespace regatta::cli
