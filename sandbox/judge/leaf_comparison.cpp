// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/leaf_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace regatta::judge {

namespace {

/// Elements at once: seven arrays of doubles stay in a 32 KiB cache for the most part.
constexpr std::size_t block_elements = 512;
constexpr std::size_t most_firsts = 4;

/// NaN equals NaN of any sign; infinities go by sign.
bool is_same_special(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

std::string complex_text(const double* x) {
  return number_text(x[0]) + (std::signbit(x[1]) ? "" : "+") + number_text(x[1]) + "j";
}

/// One component: NaN where the two contradict each other in being finite; else the difference (0 for like specials).
double difference_of(double got, double ref, double eager) {
  if (std::isfinite(ref) != std::isfinite(eager)) {
    // The reference contradicts itself (an overflow in the narrow type): either is right.
    if (!std::isfinite(got)) {
      return is_same_special(got, std::isfinite(ref) ? eager : ref) ? 0 : std::numeric_limits<double>::quiet_NaN();
    }
    return got - (std::isfinite(ref) ? ref : eager);
  }
  if (!std::isfinite(ref)) {
    const bool is_like = is_same_special(got, ref) || is_same_special(got, eager);
    return is_like ? 0 : std::numeric_limits<double>::quiet_NaN();
  }
  return std::isfinite(got) ? got - ref : std::numeric_limits<double>::quiet_NaN();
}

double within_range(double x) {
  constexpr double most = std::numeric_limits<double>::max();
  return std::clamp(x, -most, most);
}

}  // namespace

struct leaf_comparison::block {
  // Values as they came (complex: pairs), then what the sums take.
  std::array<double, 2 * block_elements> got, ref, eager, diff, own;
  std::array<double, block_elements> diff_of, ref_of, own_of;  // Of complex elements: moduli.
  const double* diffs = nullptr;
  const double* refs = nullptr;
  const double* owns = nullptr;
};

leaf_comparison::leaf_comparison(element_type type, const tolerance& limits, std::optional<own_error> known)
    : type_(type), limits_(limits), known_(known), block_(std::make_unique<block>()) {
  out_.is_constant = true;
}

leaf_comparison::~leaf_comparison() = default;

void leaf_comparison::add(const std::byte* got, const std::byte* eager, const std::byte* exact, std::size_t count) {
  const auto size = element_size(type_);
  const auto exact_size = is_complex(type_) ? sizeof(double) * 2 : sizeof(double);
  if (count == 0) {
    return;
  }
  note_firsts(got, eager, count);
  if (!is_inexact(type_)) {
    return add_exact(got, eager, count);
  }
  for (std::size_t done = 0; done < count;) {
    const auto next = std::min(block_elements, count - done);
    add_block(got + done * size, eager + done * size, exact == nullptr ? nullptr : exact + done * exact_size, next);
    done += next;
  }
}

void leaf_comparison::note_firsts(const std::byte* got, const std::byte* eager, std::size_t count) {
  const auto size = element_size(type_);
  if (out_.elements == 0) {
    std::memcpy(first_bytes_.data(), got, size);
    for (std::size_t i = 0; i < std::min(count, most_firsts); ++i) {
      out_.first_got.push_back(element_text(type_, got + i * size));
      out_.first_expected.push_back(element_text(type_, eager + i * size));
    }
  }
  // A constant is told by its first two elements nearly always, and by comparing it with itself, shifted, for certain.
  if (out_.is_constant) {
    out_.is_constant = std::memcmp(first_bytes_.data(), got, size) == 0 &&
                       std::memcmp(got, got + size, (count - 1) * size) == 0;
  }
}

void leaf_comparison::add_exact(const std::byte* got, const std::byte* eager, std::size_t count) {
  const auto size = element_size(type_);
  if (std::memcmp(got, eager, count * size) != 0) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto* const a = got + i * size;
      const auto* const b = eager + i * size;
      double x = 0, y = 0;
      to_doubles(type_, a, 1, &x);
      to_doubles(type_, b, 1, &y);
      // A bool is true by any byte but 0; all others are what their bytes say.
      if (type_ == element_type::boolean ? x == y : std::memcmp(a, b, size) == 0) {
        continue;
      }
      note_violation(out_.elements + i);
      if (const double d = std::fabs(x - y); d > out_.worst_abs || out_.violations == 1) {
        out_.worst_abs = std::max(d, out_.worst_abs);
        out_.worst_at = out_.elements + i;
        out_.got = element_text(type_, a);
        out_.expected = element_text(type_, b);
      }
    }
  }
  out_.elements += count;
}

void leaf_comparison::note_violation(std::uint64_t at) {
  out_.first_at = out_.violations++ == 0 ? at : out_.first_at;
  out_.last_at = at;
}

void leaf_comparison::fill(block& x, const std::byte* got, const std::byte* eager, const std::byte* exact,
                           std::size_t count) {
  const auto values = is_complex(type_) ? 2 * count : count;
  to_doubles(type_, got, count, x.got.data());
  to_doubles(type_, eager, count, x.eager.data());
  if (exact == nullptr) {
    std::memcpy(x.ref.data(), x.eager.data(), values * sizeof(double));
  } else {
    std::memcpy(x.ref.data(), exact, values * sizeof(double));
  }
}

void leaf_comparison::add_block(const std::byte* got, const std::byte* eager, const std::byte* exact,
                                std::size_t count) {
  auto& x = *block_;
  const auto values = is_complex(type_) ? 2 * count : count;
  fill(x, got, eager, exact, count);
  bool is_finite = subtract(x.got.data(), x.ref.data(), x.eager.data(), values, x.diff.data(), x.own.data());
  x.diffs = x.diff.data();
  x.refs = x.ref.data();
  x.owns = x.own.data();
  if (is_finite && is_complex(type_)) {
    for (std::size_t i = 0; i < count; ++i) {
      x.diff_of[i] = std::hypot(x.diff[2 * i], x.diff[2 * i + 1]);
      x.ref_of[i] = std::hypot(x.ref[2 * i], x.ref[2 * i + 1]);
      x.own_of[i] = std::hypot(x.own[2 * i], x.own[2 * i + 1]);
      is_finite = is_finite && std::isfinite(x.diff_of[i]) && std::isfinite(x.ref_of[i]) && std::isfinite(x.own_of[i]);
    }
    x.diffs = x.diff_of.data();
    x.refs = x.ref_of.data();
    x.owns = x.own_of.data();
  }
  finite_ += is_finite ? count : settle_specials(x, count);
  sum(x, count);
  out_.elements += count;
}

/// Elements that are not finite, one by one; leaves only finite values in what is summed, and returns how many count.
std::size_t leaf_comparison::settle_specials(block& x, std::size_t count) {
  const std::size_t parts = is_complex(type_) ? 2 : 1;
  std::size_t finite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double diff = 0, ref = 0, own = 0;
    bool is_finite = true, has_finite_truth = true;
    for (std::size_t k = i * parts; k < (i + 1) * parts; ++k) {
      const bool has_exact = std::isfinite(x.ref[k]), has_eager = std::isfinite(x.eager[k]);
      diff = std::hypot(diff, difference_of(x.got[k], x.ref[k], x.eager[k]));
      ref = std::hypot(ref, has_exact ? x.ref[k] : has_eager ? x.eager[k] : 0);
      own = std::hypot(own, has_exact && has_eager ? x.eager[k] - x.ref[k] : 0);
      is_finite = is_finite && (has_exact || has_eager);
      has_finite_truth = has_finite_truth && has_eager;
    }
    out_.endless += has_finite_truth ? 0 : 1;
    if (std::isnan(diff)) {
      if (out_.specials++ == 0) {
        out_.worst_at = out_.elements + i;
        out_.got = parts == 2 ? complex_text(&x.got[2 * i]) : number_text(x.got[i]);
        out_.expected = parts == 2 ? complex_text(&x.ref[2 * i]) : number_text(x.ref[i]);
      }
      note_violation(out_.elements + i);
      diff = 0;
    } else {
      finite += is_finite ? 1 : 0;
    }
    x.diff_of[i] = within_range(diff);
    x.ref_of[i] = within_range(ref);
    x.own_of[i] = within_range(own);
  }
  x.diffs = x.diff_of.data();
  x.refs = x.ref_of.data();
  x.owns = x.own_of.data();
  return finite;
}

void leaf_comparison::sum(const block& x, std::size_t count) {
  const auto sums = error_sums_of(x.diffs, x.refs, x.owns, count, limits_.rtol);
  out_.worst_abs = std::max(out_.worst_abs, sums.worst);
  out_.own.worst = std::max(out_.own.worst, sums.own_worst);
  if (sums.excess > limits_.atol || sums.excess > excess_) {
    note_violations(x, count, sums.excess);
  }
  const bool is_finite = std::isfinite(sums.diff_squares) && std::isfinite(sums.ref_squares) &&
                         std::isfinite(sums.own_squares) && std::isfinite(sums.diff) &&
                         std::isfinite(sums.diff_times_ref);
  if (is_finite) {
    diff_squares_ += sums.diff_squares;
    ref_squares_ += sums.ref_squares;
    own_squares_ += sums.own_squares;
    diff_times_ref_ += sums.diff_times_ref;
    diff_sum_ += sums.diff;
    return;
  }
  // Squares of huge values: a long double has the exponents for them.
  for (std::size_t i = 0; i < count; ++i) {
    const long double d = x.diffs[i], r = x.refs[i], o = x.owns[i];
    diff_squares_ += d * d;
    ref_squares_ += r * r;
    own_squares_ += o * o;
    diff_times_ref_ += d * r;
    diff_sum_ += d;
  }
}

void leaf_comparison::note_violations(const block& x, std::size_t count, double excess) {
  for (std::size_t i = 0; i < count; ++i) {
    const double d = std::fabs(x.diffs[i]);
    const double over = d - limits_.rtol * std::fabs(x.refs[i]);
    if (over > limits_.atol) {
      note_violation(out_.elements + i);
      worst_violation_ = std::max(worst_violation_, d);
    }
    if (over > excess_) {
      excess_ = over;
      if (out_.specials == 0) {
        out_.worst_at = out_.elements + i;
        out_.got = is_complex(type_) ? complex_text(&x.got[2 * i]) : number_text(x.got[i]);
        out_.expected = is_complex(type_) ? complex_text(&x.ref[2 * i]) : number_text(x.ref[i]);
      }
    }
  }
  excess_ = std::max(excess_, excess);
}

leaf_figures leaf_comparison::finish() {
  out_.is_constant = out_.is_constant && out_.elements > 1;
  if (is_inexact(type_)) {
    finish_rules();
    finish_hints();
  } else {
    out_.is_right = out_.violations == 0;
  }
  return out_;
}

void leaf_comparison::finish_rules() {
  const auto count = static_cast<long double>(std::max<std::uint64_t>(finite_, 1));
  const auto ratio = [&](long double squares) {
    return ref_squares_ > 0 ? static_cast<double>(std::sqrt(squares / ref_squares_))
           : squares > 0    ? std::numeric_limits<double>::infinity()
                            : 0.0;
  };
  out_.scale = static_cast<double>(std::sqrt(ref_squares_ / count));
  out_.norm = ratio(diff_squares_);
  out_.own.norm = ratio(own_squares_);
  if (known_) {
    out_.own = *known_;
  }
  const bool has_scale = out_.scale > least_scale;
  const bool is_atol_known = has_scale && !limits_.is_relative;
  out_.atol = is_atol_known ? limits_.atol : std::min(limits_.atol, limits_.rtol * out_.scale);
  const double allowed = own_error_factor * out_.own.worst;
  // Where atol is known only now, the largest difference must be as near as the reference's own.
  const double worst = is_atol_known ? worst_violation_ : out_.worst_abs;
  const bool is_near = excess_ <= out_.atol || worst <= allowed;
  out_.is_norm_right = !has_scale || out_.norm <= std::max(limits_.norm, own_error_factor * out_.own.norm);
  out_.is_right = out_.specials == 0 && is_near && out_.is_norm_right;
}

void leaf_comparison::finish_hints() {
  if (is_complex(type_) || ref_squares_ <= 0 || finite_ == 0) {
    return;
  }
  const long double factor = 1 + diff_times_ref_ / ref_squares_;
  const long double out_squares = diff_squares_ + 2 * diff_times_ref_ + ref_squares_;
  const long double rest = std::max<long double>(0, out_squares - factor * factor * ref_squares_);
  out_.factor = static_cast<double>(factor);
  out_.factor_rest = out_squares > 0 ? static_cast<double>(std::sqrt(rest / out_squares)) : 1;
  const long double mean = diff_sum_ / static_cast<long double>(finite_);
  const long double spread = std::max<long double>(0, diff_squares_ / static_cast<long double>(finite_) - mean * mean);
  out_.offset = static_cast<double>(mean);
  out_.offset_rest = mean != 0 ? static_cast<double>(std::sqrt(spread) / std::fabs(mean)) : 1;
}

}  // namespace regatta::judge
