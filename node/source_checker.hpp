// SPDX-License-Identifier: Apache-2.0
/// \file
/// SOURCE CHECKER: does a text parse as the candidate's own interpreter reads it? A long-lived helper
/// (sandbox/python/source_check.py) in a sandbox of its own, started again when it dies or hangs.
#pragma once

#include "messages/node_handles.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/runner.hpp"

#include <caf/actor_system.hpp>

#include <chrono>
#include <memory>

namespace regatta {

struct source_checker_config {
  std::shared_ptr<sandbox::runner> runner;
  sandbox::interpreter python;
  /// One question. 10 s: a 1 MiB text takes `ast.parse` about 2 s here (judgement: the 5).
  std::chrono::milliseconds answer_timeout{10'000};
};

source_checker_actor spawn_source_checker(caf::actor_system& system, source_checker_config config);

}  // namespace regatta
