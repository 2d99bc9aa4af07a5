// SPDX-License-Identifier: Apache-2.0
/// \file
/// The three runs of a judging (docs/judge.md): comparator, reference side, candidate side, each in a sandbox of its own.
#pragma once

#include "messages/evaluation.hpp"
#include "sandbox/interpreter.hpp"
#include "sandbox/run_spec.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace regatta {

struct gpu;

/// What of this installation judges; read once.
struct judge_kit {
  std::string comparator;                        ///< Absolute path of `regatta-judge`.
  std::vector<sandbox::input_file> side_files;   ///< The sides' programs, put into their runs.
  std::string problem;                           ///< Why nothing can be judged; empty if all is there.
};
judge_kit find_judge_kit();

struct judge_question {
  std::string stage;
  bool is_probe = false;     ///< Asks the reference side alone: can this problem be judged, and is its oracle weak?
  judge_terms terms;
  bool is_timing = false;    ///< How fast is it beside the reference? It is right: it was judged before.
};

/// Where both sides run.
struct judge_place {
  const gpu* device = nullptr;  ///< Null: CPU.
  sandbox::interpreter python;
  std::map<std::string, std::string> host_environment;
  run_limits limits;  ///< Of the candidate; the other two get theirs from it.
  bool is_alone = false;  ///< `placement::is_alone`.
};

/// The comparator, both sides together, and their pipes; a probe has no candidate.
struct judge_specs {
  sandbox::run_spec comparator;
  sandbox::run_spec reference;
  sandbox::run_spec candidate;
  std::string failure;  ///< `errno`'s text if there are no descriptors; empty if all is well.
};
judge_specs make_judge_specs(const judge_kit& kit, const judge_place& place, const judge_question& question,
                             const std::string& problem, const std::string& candidate);

/// Name of the comparator's answer among its kept files.
inline constexpr const char* judge_verdict_file = "verdict.json";

}  // namespace regatta
