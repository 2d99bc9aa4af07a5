// SPDX-License-Identifier: Apache-2.0
/// \file
/// The code points that Python's `\w` takes, as sorted ranges.
#pragma once

#include <cstddef>

namespace regatta::sandbox {

struct word_range {
  char32_t first;
  char32_t last;
};
extern const word_range word_ranges[];
extern const std::size_t word_range_count;

}  // namespace regatta::sandbox
