// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the rules need to know of many elements: the tight loop of the comparator, free of branches.
#pragma once

#include <cstddef>

namespace regatta::judge {

struct error_sums {
  double excess = 0;      ///< Largest |diff| - rtol * |ref|; at most atol: every element is within tolerance.
  double worst = 0;       ///< Largest |diff|.
  double own_worst = 0;   ///< Largest |own|.
  double diff_squares = 0, ref_squares = 0, own_squares = 0;
  double diff_times_ref = 0, diff = 0;
};

/// Every value must be finite. `count` > 0. Squares may still overflow to infinity.
error_sums error_sums_of(const double* diff, const double* ref, const double* own, std::size_t count, double rtol);

}  // namespace regatta::judge
