// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/matrix_multiply.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/ptx/small_floats.h"

namespace ak::ptx {
namespace {

// For all formats but f64 products are exact, so that fusing changes nothing but the speed.
double multiply_add_one(double a, double b, double c) { return std::fma(a, b, c); }
std::int32_t multiply_add_one(std::int32_t a, std::int32_t b, std::int32_t c) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) +
                                   static_cast<std::uint32_t>(c));
}

constexpr int kRows = 4;  // of the part of c kept in registers: with kColumns, 8 vectors of 4 doubles
constexpr int kColumns = 8;

/// One kRows x kColumns part of c.
template <class T>
void multiply_part(const T* a, const T* b, T* c, int n, int k) {
  T sums[kRows][kColumns];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) sums[i][j] = c[i * n + j];
  }
  for (int p = 0; p < k; ++p) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const T factor = a[i * k + p];
      for (int j = 0; j < kColumns; ++j) sums[i][j] = multiply_add_one(factor, b[p * n + j], sums[i][j]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) c[i * n + j] = sums[i][j];
  }
}

template <class T>
void multiply(const T* a, const T* b, T* c, int m, int n, int k) {
  for (int row = 0; row < m; row += kRows) {
    for (int column = 0; column < n; column += kColumns)
      multiply_part(a + row * k, b + column, c + row * n + column, n, k);
  }
}

// ---- packed elements to numbers

float f16_element(std::uint16_t bits) { return f16_to_float(bits); }
float bf16_element(std::uint16_t bits) { return bf16_to_float(bits); }
float tf32_element(std::uint32_t bits) { return tf32_to_float(bits); }
float e4m3_element(std::uint8_t bits) { return e4m3_to_float(bits); }
float e5m2_element(std::uint8_t bits) { return e5m2_to_float(bits); }
double f64_element(double value) { return value; }
std::int32_t s8_element(std::int8_t value) { return value; }
std::int32_t u8_element(std::uint8_t value) { return value; }

template <class T, class Bits, auto kElement>
void decode(const std::byte* from, int count, T* to) {
  constexpr int kChunk = 8;
  for (int i = 0; i < count; i += kChunk) {
    Bits bits[kChunk];
    std::memcpy(bits, from + static_cast<std::size_t>(i) * sizeof(Bits), sizeof bits);
    for (int j = 0; j < kChunk; ++j) to[i + j] = kElement(bits[j]);
  }
}

template <bool kSigned>
void decode_nibbles(const std::byte* from, int count, std::int32_t* to) {
  for (int i = 0; i < count; ++i) {
    const auto nibble =
        static_cast<std::int32_t>(static_cast<std::uint8_t>(from[i / 2]) >> (4 * (i % 2))) & 0xF;
    to[i] = kSigned ? (nibble ^ 8) - 8 : nibble;
  }
}

}  // namespace

void multiply_add(const double* a, const double* b, double* c, int m, int n, int k) {
  multiply(a, b, c, m, n, k);
}

void multiply_add(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, int m, int n, int k) {
  multiply(a, b, c, m, n, k);
}

void multiply_add_bits(const std::uint32_t* a, const std::uint32_t* b, std::int32_t* c, int m, int n,
                       int words, bool exclusive_or) {
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      int ones = 0;
      for (int p = 0; p < words; ++p) {
        const std::uint32_t x = a[row * words + p], y = b[p * n + column];
        ones += std::popcount(exclusive_or ? x ^ y : x & y);
      }
      std::int32_t& to = c[row * n + column];
      to = multiply_add_one(1, ones, to);
    }
  }
}

Decoder<double> float_decoder(Type type) {
  switch (type) {
    case Type::f16:
      return decode<double, std::uint16_t, f16_element>;
    case Type::bf16:
      return decode<double, std::uint16_t, bf16_element>;
    case Type::tf32:
      return decode<double, std::uint32_t, tf32_element>;
    case Type::e4m3:
      return decode<double, std::uint8_t, e4m3_element>;
    case Type::e5m2:
      return decode<double, std::uint8_t, e5m2_element>;
    case Type::f64:
      return decode<double, double, f64_element>;
    default:
      return nullptr;
  }
}

Decoder<std::int32_t> integer_decoder(Type type) {
  switch (type) {
    case Type::s8:
      return decode<std::int32_t, std::int8_t, s8_element>;
    case Type::u8:
      return decode<std::int32_t, std::uint8_t, u8_element>;
    case Type::s4:
      return decode_nibbles<true>;
    case Type::u4:
      return decode_nibbles<false>;
    default:
      return nullptr;
  }
}

}  // namespace ak::ptx
