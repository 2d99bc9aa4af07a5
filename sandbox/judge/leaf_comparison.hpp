// SPDX-License-Identifier: Apache-2.0
/// \file
/// One tensor against the reference's, in pieces: the rules of docs/judge.md "What is right".
#pragma once

#include "sandbox/judge/error_sums.hpp"
#include "sandbox/judge/tolerance.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace regatta::judge {

/// What the eager reference is away from float64; given from outside where it was measured before.
struct own_error {
  double worst = 0;
  double norm = 0;
};

struct leaf_figures {
  bool is_right = true;
  std::uint64_t elements = 0;
  std::uint64_t violations = 0;  ///< Elements beyond the tolerance of the dtype, special ones included.
  std::uint64_t specials = 0;    ///< NaN or infinity on one side only, or of another sign.
  std::uint64_t endless = 0;     ///< Elements that the eager reference has as NaN or infinity.
  std::uint64_t worst_at = 0, first_at = 0, last_at = 0;  ///< Of the violations; row-major.
  std::string got, expected;     ///< At `worst_at`.
  std::vector<std::string> first_got, first_expected;
  double worst_abs = 0;
  double scale = 0;  ///< Root mean square of ref.
  double norm = 0;   ///< ‖out - ref‖ / ‖ref‖.
  own_error own;
  double atol = 0;  ///< As applied: it shrinks with the scale.
  bool is_norm_right = true;
  bool is_constant = false;  ///< All elements of the output have the same bytes.
  double factor = 0;         ///< Best c in out ≈ c · ref, and what is left of out after it, relative to it.
  double factor_rest = 1;
  double offset = 0;         ///< Mean of out - ref, and how far differences are from it, relative to it.
  double offset_rest = 1;

  double worst_rel() const { return scale > 0 ? worst_abs / scale : 0; }
};

class leaf_comparison {
public:
  /// `known`: judge by this error of the reference instead of measuring it.
  leaf_comparison(element_type type, const tolerance& limits, std::optional<own_error> known = std::nullopt);
  ~leaf_comparison();

  /// The next elements, row-major. `exact`: float64 (complex128), or null.
  void add(const std::byte* got, const std::byte* eager, const std::byte* exact, std::size_t count);
  leaf_figures finish();

private:
  struct block;
  void add_exact(const std::byte* got, const std::byte* eager, std::size_t count);
  void add_block(const std::byte* got, const std::byte* eager, const std::byte* exact, std::size_t count);
  void fill(block& x, const std::byte* got, const std::byte* eager, const std::byte* exact, std::size_t count);
  std::size_t settle_specials(block& x, std::size_t count);
  void sum(const block& x, std::size_t count);
  void note_violations(const block& x, std::size_t count, double excess);
  void note_violation(std::uint64_t at);
  void note_firsts(const std::byte* got, const std::byte* eager, std::size_t count);
  void finish_rules();
  void finish_hints();

  element_type type_;
  tolerance limits_;
  std::optional<own_error> known_;
  leaf_figures out_;
  std::unique_ptr<block> block_;
  std::uint64_t finite_ = 0;
  double excess_ = -1.7e308;
  double worst_violation_ = 0;  ///< Largest difference among elements beyond tolerance.
  long double diff_squares_ = 0, ref_squares_ = 0, own_squares_ = 0, diff_times_ref_ = 0, diff_sum_ = 0;
  std::array<std::byte, 16> first_bytes_{};
};

}  // namespace regatta::judge
