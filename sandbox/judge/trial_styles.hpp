// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which question comes when; a problem is probed with the questions that its candidates get.
#pragma once

#include <array>
#include <cstddef>

namespace regatta::judge {

enum class trial_style : std::size_t { plain, affine, scaled };
inline constexpr std::size_t trial_styles = 3;
inline constexpr std::array<const char*, trial_styles> style_names{"plain", "plain+affine", "scaled"};

constexpr trial_style style_of_trial(unsigned number) {
  constexpr std::array cycle{trial_style::plain, trial_style::affine, trial_style::scaled, trial_style::affine};
  return cycle.at(number % cycle.size());
}

constexpr const char* style_name(trial_style x) {
  return style_names.at(static_cast<std::size_t>(x));
}

}  // namespace regatta::judge
