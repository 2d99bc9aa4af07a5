// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the two sides say (docs/judge.md). Tensors' bytes follow in the body.
#pragma once

#include "sandbox/judge/tolerance.hpp"
#include "sandbox/judge/tree.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace regatta::judge {

struct side_versions {
  std::string python, torch, device;
};

struct reference_hello {
  side_versions versions;
  std::string mode, problem_sha256;
  tree_node init_args;  ///< Its tensors are in the body.
  tree_node inputs;     ///< Shapes only.
  bool is_random = false;
  std::uint64_t question_bytes = 0;  ///< Of inputs, outputs and parameters, as far as it knows. A hint, not a bound.
  std::string recipe;                ///< The code that draws the inputs, without `Model`; empty: it cannot be had alone.
  std::vector<tolerance_wish> tolerances;
};

/// Of the rules about what a candidate's code may do (sandbox/python/judge/policy.py).
struct policy_finding {
  std::string rule, text;
  std::uint64_t line = 0;
  bool is_error = false;
};

struct candidate_hello {
  side_versions versions;
  std::string engine;  ///< cpu, triton-interpreter, cuda-sm_90; empty: not told.
  std::vector<std::string> defines;
};

struct parameter_digest {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::string sha256;
};

/// Leaves that the call changed, by ascending number; or all inputs, if their structure is not what it was.
struct changed_inputs {
  std::vector<std::pair<std::size_t, tree_node>> leaves;
  std::optional<tree_node> whole;
  std::uint64_t body_bytes() const;
};

struct reference_answer {
  tree_node inputs, outputs;
  std::optional<tree_node> exact;  ///< As outputs, or none-leaves where eager is all there is.
  changed_inputs inputs_after;
  std::vector<parameter_digest> parameters;
  bool is_drawn = false;                   ///< The inputs' bytes are not there, these are:
  std::vector<std::string> input_digests;  ///< SHA-256 of each tensor.
  std::uint64_t body_bytes() const;
};

struct candidate_answer {
  bool is_undrawn = false;                 ///< It could not draw the inputs itself; nothing else is told.
  std::vector<std::string> input_digests;  ///< Of what it drew.
  tree_node outputs;
  changed_inputs inputs_after;
  std::vector<parameter_digest> parameters;
  std::optional<tree_node> function;  ///< What kernel_function gave.
  std::string function_refused;
  std::string kernel_evidence;
  std::string torch_ops;  ///< What PyTorch computed while it ran; empty: nothing of weight.
  std::string launched;   ///< JSON: launches that its interpreter saw.
  std::uint64_t body_bytes() const;
};

struct question {
  std::uint64_t id = 0;
  std::uint64_t init_seed = 0, input_seed = 0;
  std::string style;
  bool is_drawn = false;  ///< Both sides draw the inputs: they are too large to be sent.
};

/// To the candidate.
struct candidate_question {
  const question& asked;
  const std::string& mode;
  const tree_node& init_args;
  const tree_node& inputs;
  const tree_node* parameters = nullptr;  ///< Null: its own.
  bool has_kept_parameters = false;       ///< They were sent before.
  const std::string* recipe = nullptr;    ///< If it is to draw the inputs.
  bool wants_function = true;
};

/// Same weights, whatever they are called and in whichever order: names and order are the candidate's own.
bool is_same_weights(const std::vector<parameter_digest>& a, const std::vector<parameter_digest>& b);

}  // namespace regatta::judge
