// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/element_type.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace regatta::judge;
using regatta::to_string;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double value_of(element_type type, std::uint64_t bits) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), &bits, sizeof bits);
  std::array<double, 2> out{};
  to_doubles(type, bytes.data(), 1, out.data());
  return out[0];
}

struct known_value {
  element_type type;
  std::uint64_t bits;
  double value;
};

// Values as torch gives them: tensor.view(dtype).double().
const std::vector<known_value> known{
    {element_type::boolean, 0, 0},
    {element_type::boolean, 2, 1},
    {element_type::uint8, 0xFF, 255},
    {element_type::int8, 0xFF, -1},
    {element_type::int16, 0x8000, -32768},
    {element_type::uint16, 0x8000, 32768},
    {element_type::int32, 0xFFFFFFFF, -1},
    {element_type::uint32, 0xFFFFFFFF, 4294967295.0},
    {element_type::int64, 0xFFFFFFFFFFFFFFFF, -1},
    {element_type::uint64, 0x8000000000000000, 9223372036854775808.0},
    {element_type::float16, 0x3C00, 1},
    {element_type::float16, 0xC000, -2},
    {element_type::float16, 0x7BFF, 65504},
    {element_type::float16, 0x0001, 0x1p-24},
    {element_type::float16, 0x0400, 0x1p-14},
    {element_type::float16, 0x7C00, infinity},
    {element_type::float16, 0xFC00, -infinity},
    {element_type::bfloat16, 0x3F80, 1},
    {element_type::bfloat16, 0xBF00, -0.5},
    {element_type::bfloat16, 0x0001, 0x1p-133},
    {element_type::bfloat16, 0x7F80, infinity},
    {element_type::float32, 0x3FC00000, 1.5},
    {element_type::float64, 0x3FF8000000000000, 1.5},
    {element_type::float8_e4m3fn, 0x38, 1},
    {element_type::float8_e4m3fn, 0x7E, 448},
    {element_type::float8_e4m3fn, 0x01, 0x1p-9},
    {element_type::float8_e4m3fn, 0xB8, -1},
    {element_type::float8_e5m2, 0x3C, 1},
    {element_type::float8_e5m2, 0x7B, 57344},
    {element_type::float8_e5m2, 0x01, 0x1p-16},
    {element_type::float8_e5m2, 0x7C, infinity},
    {element_type::float8_e5m2, 0xFC, -infinity},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(element_type_test)

BOOST_AUTO_TEST_CASE(bits_become_the_values_that_torch_says) {
  for (const auto& x : known) {
    BOOST_TEST_CONTEXT(to_string(x.type) << " " << x.bits) { BOOST_TEST(value_of(x.type, x.bits) == x.value); }
  }
}

BOOST_AUTO_TEST_CASE(patterns_that_are_no_numbers_are_nan) {
  BOOST_TEST(std::isnan(value_of(element_type::float16, 0x7C01)));
  BOOST_TEST(std::isnan(value_of(element_type::float16, 0xFE00)));
  BOOST_TEST(std::isnan(value_of(element_type::bfloat16, 0x7FC0)));
  BOOST_TEST(std::isnan(value_of(element_type::float8_e4m3fn, 0x7F)));
  BOOST_TEST(std::isnan(value_of(element_type::float8_e4m3fn, 0xFF)));
  BOOST_TEST(std::isnan(value_of(element_type::float8_e5m2, 0x7D)));
}

BOOST_AUTO_TEST_CASE(elements_need_not_be_aligned) {
  const std::array<float, 2> values{1.5F, -2.0F};
  std::array<std::byte, 9> bytes{};
  std::memcpy(bytes.data() + 1, values.data(), 8);
  std::array<double, 2> out{};
  to_doubles(element_type::float32, bytes.data() + 1, 2, out.data());
  BOOST_TEST(out[0] == 1.5);
  BOOST_TEST(out[1] == -2.0);
}

BOOST_AUTO_TEST_CASE(integers_of_64_bits_are_told_exactly) {
  const std::int64_t x = 9007199254740993;
  BOOST_TEST(element_text(element_type::int64, reinterpret_cast<const std::byte*>(&x)) == "9007199254740993");
}

BOOST_AUTO_TEST_CASE(a_complex_element_is_told_as_python_writes_it) {
  const std::array<float, 2> x{1.5F, -2.0F};
  BOOST_TEST(element_text(element_type::complex64, reinterpret_cast<const std::byte*>(x.data())) == "1.5-2j");
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_found_anywhere_in_a_block) {
  for (std::size_t size = 1; size < 20; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<double> got(size, 1), ref(size, 2), diff(size), own(size);
      BOOST_TEST(subtract(got.data(), ref.data(), ref.data(), size, diff.data(), own.data()));
      got[at] = std::nan("");
      BOOST_TEST(!subtract(got.data(), ref.data(), ref.data(), size, diff.data(), own.data()));
      got[at] = infinity;
      BOOST_TEST(!subtract(got.data(), ref.data(), ref.data(), size, diff.data(), own.data()));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
