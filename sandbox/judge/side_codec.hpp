// SPDX-License-Identifier: Apache-2.0
/// \file
/// Heads of both channels. Readers throw malformed, or session_end for an answer `failed`.
#pragma once

#include "sandbox/judge/ending.hpp"
#include "sandbox/judge/side_words.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::judge {

reference_hello read_reference_hello(std::string_view head);
candidate_hello read_candidate_hello(std::string_view head);
/// What the candidate's code was found to do, said before any of it ran. Empty: the head is another one.
std::optional<std::vector<policy_finding>> read_policy(std::string_view head);
/// Throws session_end with not_judgeable where a leaf is of a type that cannot be judged.
reference_answer read_reference_answer(std::string_view head, const question& x);
tree_node read_parameters_answer(std::string_view head, std::uint64_t id);
/// `inputs`: what it was asked with; only those can have changed.
candidate_answer read_candidate_answer(std::string_view head, std::uint64_t id, const tree_node& inputs);

std::string write_hello_question();
std::string write_reference_question(const question& x);
std::string write_parameters_question(const question& x);
std::string write_candidate_question(const candidate_question& x);
/// Parameters for the question that follows, and its "I have them".
std::string write_keep_question(std::uint64_t id, const tree_node& parameters);
void read_kept_answer(std::string_view head, std::uint64_t id);
/// Whether its kernels did the work of the last question, where that is asked afterwards.
std::string write_evidence_question(std::uint64_t id);
std::string read_evidence_answer(std::string_view head, std::uint64_t id);

}  // namespace regatta::judge
