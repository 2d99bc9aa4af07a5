// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small problem and an honest candidate for sessions without Python: out = x * weight + bias, float32.
#pragma once

#include "tests/sandbox/judge/scripted_side.hpp"

#include <vector>

namespace regatta::judge::testing {

inline constexpr std::size_t toy_rows = 6, toy_columns = 5;

std::string bytes_of(const std::vector<float>& x);
std::string bytes_of(const std::vector<double>& x);
std::vector<float> floats_of(std::string_view bytes);

json tensor_node(const std::string& dtype, const std::vector<std::size_t>& shape, std::size_t bytes);
json list_node(const std::vector<json>& items);

/// Both from a seed alone; ones and zeros unless the style asks for others.
std::vector<float> toy_inputs(std::uint64_t seed);
struct toy_weights {
  std::vector<float> weight, bias;
};
toy_weights weights_of_seed(std::uint64_t seed, const std::string& style);
std::vector<float> toy_forward(const std::vector<float>& x, const toy_weights& weights);

message reference_hello_message();
message candidate_hello_message();
/// Answers `ask`, `parameters` and `hello`.
message toy_reference(const message& question);
/// Of the toy problem, with these outputs in eager's and exact's place.
message reference_answer_message(const message& question, const std::vector<float>& eager,
                                 const std::vector<double>& exact);
/// With the given parameters if there are any; else its own under the seed.
message toy_candidate(const message& question);
message candidate_answer_message(const message& question, const std::vector<float>& out, const toy_weights& own);
/// What the question brings.
std::vector<float> asked_inputs_of(const message& question);
toy_weights asked_weights_of(const message& question);
message failed_message(const message& question, const std::string& judgement, const std::string& reason);

}  // namespace regatta::judge::testing
