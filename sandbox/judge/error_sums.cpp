// SPDX-License-Identifier: Apache-2.0
// Compiled with -ffast-math (CMakeLists.txt): all values are finite, and how sums are grouped does not matter. Nothing
// else may stand in this file.
#include "sandbox/judge/error_sums.hpp"

#include <cmath>

namespace regatta::judge {

error_sums error_sums_of(const double* diff, const double* ref, const double* own, std::size_t count, double rtol) {
  error_sums out;
  double excess = -1.7e308, worst = 0, own_worst = 0;
  double diff_squares = 0, ref_squares = 0, own_squares = 0, product = 0, sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double d = std::fabs(diff[i]);
    const double o = std::fabs(own[i]);
    const double x = d - rtol * std::fabs(ref[i]);
    excess = x > excess ? x : excess;
    worst = d > worst ? d : worst;
    own_worst = o > own_worst ? o : own_worst;
    diff_squares += d * d;
    ref_squares += ref[i] * ref[i];
    own_squares += o * o;
    product += diff[i] * ref[i];
    sum += diff[i];
  }
  out.excess = excess;
  out.worst = worst;
  out.own_worst = own_worst;
  out.diff_squares = diff_squares;
  out.ref_squares = ref_squares;
  out.own_squares = own_squares;
  out.diff_times_ref = product;
  out.diff = sum;
  return out;
}

}  // namespace regatta::judge
