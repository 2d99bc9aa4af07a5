// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element types of tensors by torch's names, and their values as doubles. The machine is little-endian, as frames are.
#pragma once

#include "messages/enums.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace regatta::judge {

enum class element_type : std::uint8_t {
  boolean,
  uint8,
  int8,
  int16,
  int32,
  int64,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3fn,
  float8_e5m2,
  complex64,
  complex128,
};

std::size_t element_size(element_type x);

constexpr bool is_complex(element_type x) { return x == element_type::complex64 || x == element_type::complex128; }
/// Compared by tolerances; everything else exactly.
constexpr bool is_inexact(element_type x) { return x >= element_type::float16; }

/// `count` elements; `out` has room for them, for complex ones for twice as many (real, imaginary, …). Integers of 64
/// bits are rounded. `in` need not be aligned.
void to_doubles(element_type x, const std::byte* in, std::size_t count, double* out);

/// diff = got - ref, own = eager - ref, for each. False if any of the values is not finite (or the difference is not).
bool subtract(const double* got, const double* ref, const double* eager, std::size_t count, double* diff, double* own);

/// Shortest text that tells one from another: 17, 0.25, nan, True, 1+2j.
std::string element_text(element_type x, const std::byte* in);
std::string number_text(double x);

}  // namespace regatta::judge

REGATTA_ENUM_NAMES(regatta::judge::element_type, 17, {regatta::judge::element_type::boolean, "bool"},
                   {regatta::judge::element_type::uint8, "uint8"}, {regatta::judge::element_type::int8, "int8"},
                   {regatta::judge::element_type::int16, "int16"}, {regatta::judge::element_type::int32, "int32"},
                   {regatta::judge::element_type::int64, "int64"}, {regatta::judge::element_type::uint16, "uint16"},
                   {regatta::judge::element_type::uint32, "uint32"}, {regatta::judge::element_type::uint64, "uint64"},
                   {regatta::judge::element_type::float16, "float16"},
                   {regatta::judge::element_type::bfloat16, "bfloat16"},
                   {regatta::judge::element_type::float32, "float32"},
                   {regatta::judge::element_type::float64, "float64"},
                   {regatta::judge::element_type::float8_e4m3fn, "float8_e4m3fn"},
                   {regatta::judge::element_type::float8_e5m2, "float8_e5m2"},
                   {regatta::judge::element_type::complex64, "complex64"},
                   {regatta::judge::element_type::complex128, "complex128"});
