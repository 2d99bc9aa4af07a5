// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/element_type.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace regatta::judge {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

namespace {

template <class T>
void convert(const std::byte* in, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    T x;
    std::memcpy(&x, in + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(x);
  }
}

/// Exponent and mantissa moved into a float32's places, then scaled; right for subnormals too. No table: 512 KiB of
/// one would not stay in the cache.
double half_to_double(std::uint16_t bits) {
  const std::uint32_t magnitude = (bits & 0x7FFFU) << 13;
  const bool is_special = (bits & 0x7C00U) == 0x7C00U;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const float value = is_special ? std::bit_cast<float>(magnitude | 0x7F800000U) : scaled;
  return static_cast<double>((bits & 0x8000U) != 0 ? -value : value);
}

double bfloat_to_double(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

template <double (*Convert)(std::uint16_t)>
void convert_halves(const std::byte* in, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t x;
    std::memcpy(&x, in + i * sizeof x, sizeof x);
    out[i] = Convert(x);
  }
}

/// Sign, `Exponent` bits of exponent, the rest mantissa. e4m3fn has no infinity and one NaN pattern; e5m2 is IEEE's.
template <int Exponent, bool HasInfinity>
std::array<double, 256> eight_bit_values() {
  constexpr int mantissa = 7 - Exponent;
  constexpr int bias = (1 << (Exponent - 1)) - 1;
  std::array<double, 256> out{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    const int exponent = static_cast<int>((bits & 0x7FU) >> mantissa);
    const int fraction = static_cast<int>(bits & ((1U << mantissa) - 1));
    double value = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                                 : std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
    if (HasInfinity && exponent == (1 << Exponent) - 1) {
      value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else if (!HasInfinity && (bits & 0x7FU) == 0x7FU) {
      value = std::numeric_limits<double>::quiet_NaN();
    }
    out[bits] = (bits & 0x80U) != 0 ? -value : value;
  }
  return out;
}

void convert_by_table(const std::array<double, 256>& table, const std::byte* in, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = table[std::to_integer<std::size_t>(in[i])];
  }
}

void convert_bools(const std::byte* in, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = in[i] != std::byte{0} ? 1 : 0;
  }
}

template <class T>
std::string integer_text(const std::byte* in) {
  T x;
  std::memcpy(&x, in, sizeof x);
  return std::to_string(x);
}

}  // namespace

std::size_t element_size(element_type x) {
  static constexpr std::array<std::uint8_t, 17> sizes{1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 1, 1, 8, 16};
  return sizes.at(static_cast<std::size_t>(x));
}

void to_doubles(element_type x, const std::byte* in, std::size_t count, double* out) {
  static const auto e4m3fn = eight_bit_values<4, false>();
  static const auto e5m2 = eight_bit_values<5, true>();
  switch (x) {
    case element_type::boolean: return convert_bools(in, count, out);
    case element_type::uint8: return convert<std::uint8_t>(in, count, out);
    case element_type::int8: return convert<std::int8_t>(in, count, out);
    case element_type::int16: return convert<std::int16_t>(in, count, out);
    case element_type::int32: return convert<std::int32_t>(in, count, out);
    case element_type::int64: return convert<std::int64_t>(in, count, out);
    case element_type::uint16: return convert<std::uint16_t>(in, count, out);
    case element_type::uint32: return convert<std::uint32_t>(in, count, out);
    case element_type::uint64: return convert<std::uint64_t>(in, count, out);
    case element_type::float16: return convert_halves<half_to_double>(in, count, out);
    case element_type::bfloat16: return convert_halves<bfloat_to_double>(in, count, out);
    case element_type::float32: return convert<float>(in, count, out);
    case element_type::float64: return convert<double>(in, count, out);
    case element_type::float8_e4m3fn: return convert_by_table(e4m3fn, in, count, out);
    case element_type::float8_e5m2: return convert_by_table(e5m2, in, count, out);
    case element_type::complex64: return convert<float>(in, 2 * count, out);
    case element_type::complex128: return convert<double>(in, 2 * count, out);
  }
}

bool subtract(const double* got, const double* ref, const double* eager, std::size_t count, double* diff, double* own) {
  // x * 0 is 0 for every finite x and NaN for all others. Four sums, as one would wait for itself.
  constexpr std::size_t lanes = 4;
  std::array<double, lanes> poison{};
  for (std::size_t i = 0; i < count; ++i) {
    diff[i] = got[i] - ref[i];
    own[i] = eager[i] - ref[i];
  }
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) {
      poison[k] += diff[i + k] * 0.0 + own[i + k] * 0.0;
    }
  }
  for (; i < count; ++i) {
    poison[0] += diff[i] * 0.0 + own[i] * 0.0;
  }
  return poison[0] + poison[1] + poison[2] + poison[3] == 0.0;
}

std::string number_text(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.7g", x);
  return std::isnan(x) ? "nan" : text;
}

std::string element_text(element_type x, const std::byte* in) {
  switch (x) {
    case element_type::boolean: return in[0] != std::byte{0} ? "True" : "False";
    case element_type::int64: return integer_text<std::int64_t>(in);
    case element_type::uint64: return integer_text<std::uint64_t>(in);
    default: break;
  }
  std::array<double, 2> value{};
  to_doubles(x, in, 1, value.data());
  if (!is_inexact(x)) {
    return std::to_string(static_cast<std::int64_t>(value[0]));
  }
  const auto real = number_text(value[0]);
  return is_complex(x) ? real + (std::signbit(value[1]) ? "" : "+") + number_text(value[1]) + "j" : real;
}

}  // namespace regatta::judge
