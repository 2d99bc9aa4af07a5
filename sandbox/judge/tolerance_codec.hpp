// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tolerances as JSON: {"float32": {"atol": 1e-4, "rtol": 1e-4, "norm": 1e-3}}, whatever is missing being the judge's own.
#pragma once

#include "sandbox/judge/tolerance.hpp"
#include "sandbox/judge/tree_codec.hpp"

#include <vector>

namespace regatta::judge {

/// Throws malformed, naming key, got and allowed.
std::vector<tolerance_wish> read_tolerance_wishes(const json& x);
json write_tolerances(const tolerance_table& x);

}  // namespace regatta::judge
