// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs candidates in the sandbox: how a `run` becomes a command line, an environment and a list of devices.
#pragma once

#include "node/candidate_launcher.hpp"
#include "node/evaluator.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/runner.hpp"

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// The command is `python -s -B -u candidate_main.py` in the run's folder; KernelAgent's names, so that its
/// candidates find `candidate_main.py` and `problem.py` where they expect them.
///
/// * Not `-I`, which KernelAgent uses: it takes the script's folder off sys.path, and `import problem` would fail.
///   What else `-I` does is done by `-s` (no user site) and by an environment that is ours from the first variable.
/// * `-u`: what was printed before a kill is seen.
/// * `-B`: the folder is a tmpfs with a limit, and nobody imports the candidate twice.
///
/// A GPU run gets that GPU's nodes and no CUDA_VISIBLE_DEVICES: the device it sees is index 0 because it is the only
/// one. A CPU run gets no node at all and TRITON_INTERPRET=1, which Triton reads at import.
sandbox::run_spec candidate_spec(const run& what, const gpu* device, const sandbox::interpreter& python,
                                 const std::map<std::string, std::string>& host_environment);

/// What a run on this device finds in its environment, be it a candidate or a side of the judge.
std::map<std::string, std::string> run_environment(const gpu* device, std::map<std::string, std::string> host);

/// How a run would like to start warm: what it finds loaded and, on a GPU, what Triton compiled and built before. One
/// whose `texts` (what it executes) never import torch neither waits for torch nor dies with its page tables: it is cold.
void ask_for_warmth(sandbox::run_spec& spec, const gpu* device, std::initializer_list<std::string_view> texts);

class sandbox_launcher final : public candidate_launcher {
public:
  sandbox_launcher(std::shared_ptr<sandbox::runner> runner, sandbox::interpreter python,
                   std::map<std::string, std::string> host_environment);

  handle start(const run& what, const placement& where, std::function<void(judged_end)> done) override;
  void cancel(handle run) override;

private:
  std::shared_ptr<sandbox::runner> runner_;
  sandbox::interpreter python_;
  std::map<std::string, std::string> host_environment_;
};

}  // namespace regatta
