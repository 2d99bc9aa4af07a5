// SPDX-License-Identifier: Apache-2.0
/// \file
/// The descriptors and the lifeline process of one program. Used by the command runner's thread only.
#pragma once

#include "actors/llm/command_folder.hpp"
#include "actors/llm/owned_fd.hpp"
#include "actors/llm/program.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace regatta {

class running_program {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using sink = std::function<void(program_event)>;

  /// Empty if it runs; else why not, and `errno_of_start` says it in a number.
  std::string start(program_id id, program_spec spec, const std::string& lifeline_program);
  running_program() = default;
  running_program(const running_program&) = delete;
  running_program& operator=(const running_program&) = delete;
  ~running_program() = default;

  /// Descriptors to poll; -1 where none.
  int input_fd() const { return input_.get(); }
  int output_fd() const { return output_.get(); }
  int errors_fd() const { return errors_.get(); }
  int pid_fd() const { return pid_fd_.get(); }

  void on_writable();
  void on_output(const sink& out, time_point now);
  void on_errors(const sink& out, time_point now);
  /// Cuts the lifeline; idempotent. The program has ended when `pid_fd` is readable.
  void stop(program_end why, time_point now);
  bool is_stopping() const { return stopped_at_.has_value(); }
  /// When it was told to stop; empty before.
  std::optional<time_point> stopped_at() const { return stopped_at_; }
  /// After `pid_fd` was readable, or to give up on it.
  program_ended finish(const sink& out, time_point now);
  int errno_of_start() const { return errno_of_start_; }

private:
  std::string spawn(const std::string& lifeline_program);
  program_ended told_end();

  program_id id_ = 0;
  program_spec spec_;
  pid_t pid_ = -1;
  owned_fd input_;
  owned_fd output_;
  owned_fd errors_;
  owned_fd lifeline_;
  owned_fd status_;
  owned_fd pid_fd_;
  std::size_t written_ = 0;
  std::size_t output_bytes_ = 0;
  std::string last_errors_;
  command_folder own_folder_;
  time_point last_life_{};
  std::optional<time_point> stopped_at_;
  program_end stop_reason_ = program_end::cancelled;
  int errno_of_start_ = 0;
};

}  // namespace regatta
