// SPDX-License-Identifier: Apache-2.0
/// \file
/// COMMAND RUNNER: programs that answer prompts, all watched by one thread.
///
/// One per gateway. Talks to its sink, in its own thread. Owns that thread; its destructor ends every program with its
/// whole tree and joins. Not a sandbox: the programs are the user's own (docs/llm.md).
#pragma once

#include "actors/llm/program.hpp"

#include <functional>
#include <memory>
#include <string>

namespace regatta {

using program_sink = std::function<void(program_event)>;

/// What the gateway needs of it; a test scripts it.
class program_host {
public:
  program_host() = default;
  program_host(const program_host&) = delete;
  program_host& operator=(const program_host&) = delete;
  virtual ~program_host() = default;

  virtual void start(program_id id, program_spec spec) = 0;
  /// Kills the tree; `program_ended` with `cancelled` follows when nothing of it is left.
  virtual void cancel(program_id id) = 0;
};

class command_runner final : public program_host {
public:
  /// `lifeline_program`: path of regatta-lifeline.
  command_runner(program_sink sink, std::string lifeline_program);
  ~command_runner() override;

  void start(program_id id, program_spec spec) override;
  void cancel(program_id id) override;

private:
  class loop;
  std::unique_ptr<loop> loop_;
};

}  // namespace regatta
