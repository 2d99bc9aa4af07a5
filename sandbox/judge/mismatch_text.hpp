// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a model is told about a wrong answer: what differs, where, by how much, and what the error looks like.
#pragma once

#include "sandbox/judge/answer_comparison.hpp"

#include <string>

namespace regatta::judge {

/// One line.
std::string mismatch_reason(const answer_report& report);
std::string mismatch_text(const answer_report& report);

/// The size of error that TF32's ten bits of mantissa make, spread over the output as they make it.
bool is_like_tf32(element_type type, const leaf_figures& x);

/// Which parameters differ from the reference's under the same seed.
std::string weights_text(const std::vector<parameter_digest>& got, const std::vector<parameter_digest>& wanted);

}  // namespace regatta::judge
