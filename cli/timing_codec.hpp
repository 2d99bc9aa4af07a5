// SPDX-License-Identifier: Apache-2.0
/// \file
/// A timing (docs/judge.md, "Timing") for people.
#pragma once

#include "actors/store_rows.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace regatta::cli {

/// What to say of one, line by line; the first says the result. Empty: there is nothing to say.
std::vector<std::string> timing_lines(const timing_row& x);

/// `record` as a JSON object among others; `null` if it is none.
std::string timing_json(const timing_row& x);

}  // namespace regatta::cli
