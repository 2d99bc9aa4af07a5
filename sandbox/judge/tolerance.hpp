// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far an element and a whole output may be from the reference (docs/judge.md: What is right).
#pragma once

#include "sandbox/judge/element_type.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace regatta::judge {

struct tolerance {
  double atol = 0;
  double rtol = 0;
  double norm = 0;  ///< Of ‖out - ref‖ / ‖ref‖.
  bool is_relative = false;  ///< atol is at most rtol times the root mean square of ref, whatever that is.
  bool operator==(const tolerance&) const = default;
};

enum class tolerance_group : std::uint8_t { float64, float32, float16, bfloat16, float8 };

constexpr tolerance_group group_of(element_type x) {
  switch (x) {
    case element_type::float64:
    case element_type::complex128: return tolerance_group::float64;
    case element_type::float16: return tolerance_group::float16;
    case element_type::bfloat16: return tolerance_group::bfloat16;
    case element_type::float8_e4m3fn:
    case element_type::float8_e5m2: return tolerance_group::float8;
    default: return tolerance_group::float32;
  }
}

/// Defaults: KernelBench's numbers element by element (float32: 1e-4), and limits of the norm above what one honest
/// rounding of the output costs (bfloat16: 1.5e-3 to 1.7e-3).
struct tolerance_table {
  std::array<tolerance, 5> groups{{{1e-8, 1e-8, 1e-6},
                                   {1e-4, 1e-4, 1e-3},
                                   {1e-2, 1e-2, 2e-3},
                                   {1e-2, 1e-2, 1e-2},
                                   {1.25e-1, 1.25e-1, 6e-2}}};
  const tolerance& of(element_type x) const { return groups.at(static_cast<std::size_t>(group_of(x))); }
};

/// Stricter rules for a problem to which idleness passes for an answer under the usual ones; each includes those before.
enum class strictness : std::uint8_t {
  usual,
  scale,  ///< atol counts relative to the output's scale.
  tenth,  ///< … and all limits are a tenth. Not where the eager reference itself could miss them.
};
inline constexpr double tenth_factor = 0.1;

constexpr tolerance tightened(tolerance x, strictness by) {
  const double factor = by == strictness::tenth ? tenth_factor : 1;
  return {x.atol * factor, x.rtol * factor, x.norm * factor, x.is_relative || by != strictness::usual};
}

constexpr tolerance_table tightened(tolerance_table x, strictness by) {
  for (auto& one : x.groups) {
    one = tightened(one, by);
  }
  return x;
}

/// What a problem or a configuration wants instead: null is the judge's own.
struct tolerance_wish {
  tolerance_group group = tolerance_group::float32;
  std::optional<double> atol, rtol, norm;
};

constexpr void apply(const tolerance_wish& x, tolerance_table& to) {
  auto& one = to.groups.at(static_cast<std::size_t>(x.group));
  one.atol = x.atol.value_or(one.atol);
  one.rtol = x.rtol.value_or(one.rtol);
  one.norm = x.norm.value_or(one.norm);
}

/// Below this root mean square of the reference, the norm says nothing and atol shrinks to rtol times it.
inline constexpr double least_scale = 1e-6;
/// A candidate may be as far from float64 as so many times the eager reference.
inline constexpr double own_error_factor = 3;

}  // namespace regatta::judge

REGATTA_ENUM_NAMES(regatta::judge::strictness, 3, {regatta::judge::strictness::usual, "usual"},
                   {regatta::judge::strictness::scale, "scale"}, {regatta::judge::strictness::tenth, "tenth"});
REGATTA_ENUM_NAMES(regatta::judge::tolerance_group, 5, {regatta::judge::tolerance_group::float64, "float64"},
                   {regatta::judge::tolerance_group::float32, "float32"},
                   {regatta::judge::tolerance_group::float16, "float16"},
                   {regatta::judge::tolerance_group::bfloat16, "bfloat16"},
                   {regatta::judge::tolerance_group::float8, "float8"});
