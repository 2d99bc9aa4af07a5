// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/leaf_comparison.hpp"
#include "sandbox/judge/mismatch_text.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

using namespace regatta::judge;
using regatta::to_string;

namespace {

constexpr double endless = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

template <class T>
void append(std::vector<std::byte>& out, T x) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&x);
  out.insert(out.end(), bytes, bytes + sizeof x);
}

/// The pattern whose value is nearest; types of up to 16 bits are small enough to look at all.
std::uint16_t nearest_pattern(element_type type, double wanted) {
  static std::map<std::pair<element_type, double>, std::uint16_t> known;
  if (const auto found = known.find({type, wanted}); !std::isnan(wanted) && found != known.end()) {
    return found->second;
  }
  const unsigned count = element_size(type) == 1 ? 256 : 65536;
  std::uint16_t best = 0;
  double distance = endless;
  for (unsigned bits = 0; bits < count; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    double value = 0;
    to_doubles(type, reinterpret_cast<const std::byte*>(&pattern), 1, &value);
    const bool is_same = value == wanted || (std::isnan(value) && std::isnan(wanted));
    const double d = is_same ? 0 : std::fabs(value - wanted);
    if (d < distance || is_same) {
      distance = d;
      best = pattern;
    }
    if (is_same) {
      break;
    }
  }
  if (!std::isnan(wanted)) {
    known[{type, wanted}] = best;
  }
  return best;
}

std::vector<std::byte> encoded(element_type type, const std::vector<double>& values) {
  std::vector<std::byte> out;
  for (const double x : values) {
    switch (type) {
      case element_type::float64: append(out, x); break;
      case element_type::float32: append(out, static_cast<float>(x)); break;
      case element_type::complex64:
        append(out, static_cast<float>(x));
        append(out, 0.5F);
        break;
      case element_type::complex128:
        append(out, x);
        append(out, 0.5);
        break;
      default: {
        const auto bits = nearest_pattern(type, x);
        element_size(type) == 1 ? append(out, static_cast<std::uint8_t>(bits)) : append(out, bits);
      }
    }
  }
  return out;
}

leaf_figures compared(element_type type, const std::vector<double>& got, const std::vector<double>& wanted) {
  leaf_comparison comparison{type, tolerance_table{}.of(type)};
  const auto a = encoded(type, got), b = encoded(type, wanted);
  comparison.add(a.data(), b.data(), nullptr, wanted.size());
  return comparison.finish();
}

leaf_figures compared(const std::vector<float>& got, const std::vector<float>& eager,
                      const std::vector<double>& exact) {
  leaf_comparison comparison{element_type::float32, tolerance_table{}.of(element_type::float32)};
  comparison.add(reinterpret_cast<const std::byte*>(got.data()), reinterpret_cast<const std::byte*>(eager.data()),
                 exact.empty() ? nullptr : reinterpret_cast<const std::byte*>(exact.data()), got.size());
  return comparison.finish();
}

std::vector<double> numbers(std::size_t count) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back((i % 2 == 0 ? 1 : -1) * (1.0 + static_cast<double>(i % 4)));
  }
  return out;
}

const std::vector<element_type> inexact_types{element_type::float16,       element_type::bfloat16,
                                              element_type::float32,       element_type::float64,
                                              element_type::float8_e4m3fn, element_type::float8_e5m2,
                                              element_type::complex64,     element_type::complex128};

/// Elements: more than a block, and no multiple of one.
constexpr std::size_t count = 1031;

/// What happens to the element at `place`.
struct spoil {
  const char* name;
  double got;
  double wanted;
  bool is_right;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(leaf_comparison_test)

BOOST_AUTO_TEST_CASE(the_same_is_right_in_every_type) {
  for (const auto type : inexact_types) {
    const auto got = compared(type, numbers(count), numbers(count));
    BOOST_TEST(got.is_right);
    BOOST_TEST(got.worst_abs == 0);
    BOOST_TEST(got.violations == 0U);
    BOOST_TEST(got.elements == count);
  }
}

BOOST_AUTO_TEST_CASE(one_bad_element_is_wrong_in_every_type_at_every_place) {
  const std::vector<spoil> table{{"nan only here", not_a_number, 1, false},
                                 {"nan only there", 1, not_a_number, false},
                                 {"nan on both sides", not_a_number, not_a_number, true},
                                 {"far off", 2, 1, false},
                                 {"sign", -1, 1, false},
                                 {"zero", 0, 1, false}};
  for (const auto type : inexact_types) {
    for (const auto& x : table) {
      for (const std::size_t place : {std::size_t{0}, std::size_t{511}, std::size_t{512}, count - 1}) {
        auto got = numbers(count), wanted = got;
        got[place] = x.got;
        wanted[place] = x.wanted;
        const auto figures = compared(type, got, wanted);
        BOOST_TEST_CONTEXT(to_string(type) << ", " << x.name << " at " << place) {
          BOOST_TEST(figures.is_right == x.is_right);
          if (!x.is_right) {
            BOOST_TEST(figures.violations == 1U);
            BOOST_TEST(figures.worst_at == place);
            BOOST_TEST(figures.first_at == place);
            BOOST_TEST(figures.last_at == place);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(infinities_go_by_their_sign) {
  // e4m3fn has none.
  for (const auto type : {element_type::float16, element_type::bfloat16, element_type::float32, element_type::float64,
                          element_type::float8_e5m2, element_type::complex64}) {
    for (const auto& x : std::vector<spoil>{{"same", endless, endless, true},
                                            {"same, below", -endless, -endless, true},
                                            {"other sign", -endless, endless, false},
                                            {"only here", endless, 1, false},
                                            {"only there", 1, endless, false},
                                            {"nan for it", not_a_number, endless, false}}) {
      auto got = numbers(count), wanted = got;
      got[600] = x.got;
      wanted[600] = x.wanted;
      BOOST_TEST_CONTEXT(to_string(type) << ", " << x.name) {
        BOOST_TEST(compared(type, got, wanted).is_right == x.is_right);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_error_within_the_tolerance_is_right_and_beyond_it_wrong) {
  struct row {
    element_type type;
    double inside, outside;  // Instead of 1.
  };
  for (const auto& x : std::vector<row>{{element_type::float64, 1 + 1.5e-8, 1 + 3e-8},
                                        {element_type::float32, 1.00015, 1.0003},
                                        {element_type::float16, 1.015, 1.03},
                                        {element_type::bfloat16, 1.0078125, 1.0234375},
                                        {element_type::float8_e4m3fn, 1.125, 1.375},
                                        {element_type::complex64, 1.00015, 1.0003}}) {
    auto got = std::vector<double>(count, 1.0), wanted = got;
    got[7] = x.inside;
    BOOST_TEST_CONTEXT(to_string(x.type)) {
      BOOST_TEST(compared(x.type, got, wanted).is_right);
      got[7] = x.outside;
      BOOST_TEST(!compared(x.type, got, wanted).is_right);
    }
  }
}

BOOST_AUTO_TEST_CASE(small_outputs_are_told_from_zeros_by_the_norm) {
  // Softmax over 50,000 columns: every element is within atol of 0.
  const std::vector<float> wanted(count, 2e-5F), zeros(count, 0.0F);
  const auto figures = compared(zeros, wanted, {});
  BOOST_TEST(figures.violations == 0U);
  BOOST_TEST(!figures.is_norm_right);
  BOOST_TEST(!figures.is_right);
  BOOST_TEST(figures.is_constant);
}

BOOST_AUTO_TEST_CASE(below_the_least_scale_zeros_are_still_wrong) {
  const std::vector<float> tiny(count, 1e-8F), zeros(count, 0.0F);
  BOOST_TEST(!compared(zeros, tiny, {}).is_right);
  BOOST_TEST(compared(tiny, tiny, {}).is_right);
  BOOST_TEST(!compared(tiny, zeros, {}).is_right);
  BOOST_TEST(compared(zeros, zeros, {}).is_right);
}

BOOST_AUTO_TEST_CASE(three_times_the_eager_error_is_allowed_and_no_more) {
  std::vector<float> eager(count, 1.0F), got = eager;
  const std::vector<double> exact(count, 1.0);
  eager[3] = 1.001F;  // 1e-3 away from float64: ten times the tolerance
  got[900] = 1.0025F;
  BOOST_TEST(compared(got, eager, exact).is_right);
  got[900] = 1.004F;
  BOOST_TEST(!compared(got, eager, exact).is_right);
}

BOOST_AUTO_TEST_CASE(a_candidate_nearer_to_the_truth_than_eager_is_right) {
  std::vector<float> eager(count, 1.01F), got(count, 1.0F);
  BOOST_TEST(compared(got, eager, std::vector<double>(count, 1.0)).is_right);
  BOOST_TEST(!compared(got, eager, {}).is_right);
}

BOOST_AUTO_TEST_CASE(where_eager_overflows_its_infinity_is_right) {
  std::vector<double> got(count, 1.0), eager = got, exact = got;
  eager[5] = endless;
  exact[5] = 70000;
  const auto figures = [&](double x) {
    got[5] = x;
    leaf_comparison comparison{element_type::float16, tolerance_table{}.of(element_type::float16)};
    const auto a = encoded(element_type::float16, got), b = encoded(element_type::float16, eager);
    comparison.add(a.data(), b.data(), reinterpret_cast<const std::byte*>(exact.data()), count);
    return comparison.finish();
  };
  BOOST_TEST(figures(endless).is_right);
  BOOST_TEST(!figures(-endless).is_right);
  BOOST_TEST(!figures(not_a_number).is_right);
  BOOST_TEST(!figures(1).is_right);
}

BOOST_AUTO_TEST_CASE(huge_values_do_not_overflow_the_norm) {
  const std::vector<double> wanted(count, 1e300);
  BOOST_TEST(compared(element_type::float64, wanted, wanted).is_right);
  auto got = wanted;
  got[0] = -1e300;
  const auto figures = compared(element_type::float64, got, wanted);
  BOOST_TEST(!figures.is_right);
  BOOST_TEST(figures.norm == 2 / std::sqrt(static_cast<double>(count)), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(!compared(element_type::float64, std::vector<double>(count, -1.7e308),
                       std::vector<double>(count, 1.7e308)).is_right);
}

BOOST_AUTO_TEST_CASE(a_few_badly_wrong_elements_do_not_drown_in_the_norm) {
  std::vector<float> wanted(100000, 1.0F), got = wanted;
  got.back() = 1.01F;
  const auto figures = compared(got, wanted, {});
  BOOST_TEST(figures.is_norm_right);
  BOOST_TEST(!figures.is_right);
}

BOOST_AUTO_TEST_CASE(integers_and_bools_must_be_equal) {
  const auto ints = [](std::vector<std::int64_t> x) {
    return std::vector<std::byte>(reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(x.data() + x.size()));
  };
  const auto figures = [&](element_type type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    leaf_comparison comparison{type, {}};
    comparison.add(a.data(), b.data(), nullptr, a.size() / element_size(type));
    return comparison.finish();
  };
  BOOST_TEST(figures(element_type::int64, ints({1, 2, 3}), ints({1, 2, 3})).is_right);
  const auto wrong = figures(element_type::int64, ints({1, 9007199254740993, 3}), ints({1, 9007199254740992, 3}));
  BOOST_TEST(!wrong.is_right);
  BOOST_TEST(wrong.violations == 1U);
  BOOST_TEST(wrong.worst_at == 1U);
  BOOST_TEST(wrong.got == "9007199254740993");
  const std::vector<std::byte> one{std::byte{1}, std::byte{0}}, two{std::byte{2}, std::byte{0}};
  BOOST_TEST(figures(element_type::boolean, two, one).is_right);
  BOOST_TEST(!figures(element_type::uint8, two, one).is_right);
}

BOOST_AUTO_TEST_CASE(pieces_do_not_matter) {
  std::mt19937_64 random{7};
  std::normal_distribution<float> draw;
  std::vector<float> wanted(count), got;
  for (auto& x : wanted) {
    x = draw(random);
  }
  got = wanted;
  got[700] += 1;
  const auto whole = compared(got, wanted, {});
  leaf_comparison comparison{element_type::float32, tolerance_table{}.of(element_type::float32)};
  for (std::size_t i = 0; i < count; ++i) {
    comparison.add(reinterpret_cast<const std::byte*>(&got[i]), reinterpret_cast<const std::byte*>(&wanted[i]), nullptr, 1);
  }
  const auto pieces = comparison.finish();
  BOOST_TEST(pieces.worst_at == whole.worst_at);
  BOOST_TEST(pieces.violations == whole.violations);
  BOOST_TEST(pieces.norm == whole.norm, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(an_error_of_tf32_is_called_so) {
  std::mt19937_64 random{7};
  std::normal_distribution<float> draw;
  std::vector<float> wanted(count), got;
  for (auto& x : wanted) {
    x = draw(random);
    got.push_back(x + draw(random) * 0x1p-11F);
  }
  const auto figures = compared(got, wanted, {});
  BOOST_TEST(!figures.is_right);
  BOOST_TEST(is_like_tf32(element_type::float32, figures));
  BOOST_TEST(!is_like_tf32(element_type::float16, figures));
  got[0] += 1;
  BOOST_TEST(!is_like_tf32(element_type::float32, compared(got, wanted, {})));
}

BOOST_AUTO_TEST_CASE(what_a_wrong_output_looks_like_is_noticed) {
  std::mt19937_64 random{7};
  std::normal_distribution<float> draw;
  std::vector<float> wanted(count), twice, more;
  for (auto& x : wanted) {
    x = draw(random);
    twice.push_back(2 * x);
    more.push_back(x + 3);
  }
  const auto scaled = compared(twice, wanted, {});
  BOOST_TEST(scaled.factor == 2, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(scaled.factor_rest < 1e-4);
  const auto moved = compared(more, wanted, {});
  BOOST_TEST(moved.offset == 3, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(moved.offset_rest < 1e-4);
  BOOST_TEST(moved.factor_rest > 0.1);
}

BOOST_AUTO_TEST_CASE(nothing_at_all_is_right) {
  BOOST_TEST(compared(element_type::float32, {}, {}).is_right);
}

BOOST_AUTO_TEST_SUITE_END()
