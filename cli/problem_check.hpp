// SPDX-License-Identifier: Apache-2.0
/// \file
/// Is the problem one that can be raced? The rule; the facts come from the candidates' own interpreter.
#pragma once

#include "messages/evaluation.hpp"

#include <string>
#include <string_view>

namespace regatta::cli {

/// What every error text about a problem says is allowed.
inline constexpr std::string_view problem_form =
    "a PyTorch problem: a file with Model, get_inputs() and get_init_inputs()";

/// "line 3: invalid syntax", "got no get_inputs at its top level"; empty if it can be raced.
std::string why_no_problem(const source_facts& facts, std::string_view text);

}  // namespace regatta::cli
