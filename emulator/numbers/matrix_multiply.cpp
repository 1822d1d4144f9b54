// SPDX-License-Identifier: Apache-2.0
#include "emulator/numbers/matrix_multiply.h"

#include <bit>
#include <cmath>
#include <cstring>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "emulator/numbers/small_floats.h"

namespace ak::emulator {
namespace {

#ifdef __AVX__
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

/// As many columns as fit a vector.
template <class T>
struct Columns {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  static constexpr int kCount = kVectorBytes / static_cast<int>(sizeof(T));
};
template <class T>
typename Columns<T>::Vector load(const T* from) {
  typename Columns<T>::Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

/// Four rows of c, kWide vectors wide.
template <int kWide, class T>
void multiply_part(const T* a, const T* b, T* c, int n, int k) {
  using Vector = typename Columns<T>::Vector;
  constexpr int kCount = Columns<T>::kCount;
  Vector sums[4][kWide];
#pragma GCC unroll 8
  for (int i = 0; i < 4 * kWide; ++i)
    sums[i / kWide][i % kWide] = load(c + i / kWide * n + i % kWide * kCount);
  for (int p = 0; p < k; ++p) {
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) {
      const Vector row = load(b + p * n + j * kCount);
#pragma GCC unroll 8
      for (int i = 0; i < 4; ++i) sums[i][j] += a[i * k + p] * row;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < 4 * kWide; ++i)
    std::memcpy(c + i / kWide * n + i % kWide * kCount, &sums[i / kWide][i % kWide], sizeof(Vector));
}

template <class T>
void multiply(const T* a, const T* b, T* c, int m, int n, int k) {
  constexpr int kCount = Columns<T>::kCount;
  for (int row = 0; row < m; row += 4) {
    const T* rows = a + row * k;
    int column = 0;
    for (; column + 2 * kCount <= n; column += 2 * kCount)
      multiply_part<2>(rows, b + column, c + row * n + column, n, k);
    if (column < n) multiply_part<1>(rows, b + column, c + row * n + column, n, k);
  }
}

// ---- packed elements to numbers

[[maybe_unused]] float f16_element(std::uint16_t bits) { return f16_to_float(bits); }
float bf16_element(std::uint16_t bits) { return bf16_to_float(bits); }
float tf32_element(std::uint32_t bits) { return tf32_to_float(bits); }
float e4m3_element(std::uint8_t bits) { return e4m3_to_float(bits); }
float e5m2_element(std::uint8_t bits) { return e5m2_to_float(bits); }
// One to a byte: 6 bits are the lower ones, 4 bits lie in the middle (PTX ISA 9.0, 9.7.14.2 "Matrix data-types").
float e3m2_element(std::uint8_t bits) { return e3m2_to_float(bits & 0x3Fu); }
float e2m3_element(std::uint8_t bits) { return e2m3_to_float(bits & 0x3Fu); }
float e2m1_element(std::uint8_t bits) { return e2m1_to_float(bits >> 2 & 0xFu); }
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

#ifdef __F16C__
void decode_f16(const std::byte* from, int count, double* to) {
  constexpr int kChunk = 4;
  for (int i = 0; i < count; i += kChunk) {
    const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 2 * i));
    _mm256_storeu_pd(to + i, _mm256_cvtps_pd(_mm_cvtph_ps(halves)));
  }
}
#else
constexpr Decoder<double> decode_f16 = decode<double, std::uint16_t, f16_element>;
#endif

template <bool kSigned>
void decode_nibbles(const std::byte* from, int count, std::int32_t* to) {
  for (int i = 0; i < count; ++i) {
    const auto nibble =
        static_cast<std::int32_t>(static_cast<std::uint8_t>(from[i / 2]) >> (4 * (i % 2))) & 0xF;
    to[i] = kSigned ? (nibble ^ 8) - 8 : nibble;
  }
}

void decode_e2m1_pairs(const std::byte* from, int count, double* to) {
  for (int i = 0; i < count; ++i)
    to[i] = e2m1_to_float(static_cast<std::uint32_t>(from[i / 2]) >> (4 * (i % 2)) & 0xFu);
}

}  // namespace

void multiply_add(const double* a, const double* b, double* c, int m, int n, int k) {
  multiply(a, b, c, m, n, k);
}

void multiply_add_fused(const double* a, const double* b, double* c, int m, int n, int k) {
  for (int row = 0; row < m; ++row) {
    for (int p = 0; p < k; ++p) {
      const double factor = a[row * k + p];
      for (int j = 0; j < n; ++j) c[row * n + j] = std::fma(factor, b[p * n + j], c[row * n + j]);
    }
  }
}

void multiply_add(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, int m, int n, int k) {
  // Unsigned, since overflow wraps around.
  multiply(reinterpret_cast<const std::uint32_t*>(a), reinterpret_cast<const std::uint32_t*>(b),
           reinterpret_cast<std::uint32_t*>(c), m, n, k);
}

void multiply_add_bits(const std::uint32_t* a, const std::uint32_t* b, std::int32_t* c, int m, int n,
                       int words, bool exclusive_or) {
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      std::uint32_t ones = 0;
      for (int p = 0; p < words; ++p) {
        const std::uint32_t x = a[row * words + p], y = b[p * n + column];
        ones += static_cast<std::uint32_t>(std::popcount(exclusive_or ? x ^ y : x & y));
      }
      std::int32_t& to = c[row * n + column];
      to = static_cast<std::int32_t>(static_cast<std::uint32_t>(to) + ones);
    }
  }
}

Decoder<double> float_decoder(Type type) {
  switch (type) {
    case Type::f16:
      return decode_f16;
    case Type::bf16:
      return decode<double, std::uint16_t, bf16_element>;
    case Type::tf32:
      return decode<double, std::uint32_t, tf32_element>;
    case Type::e4m3:
      return decode<double, std::uint8_t, e4m3_element>;
    case Type::e5m2:
      return decode<double, std::uint8_t, e5m2_element>;
    case Type::e2m1:
      return decode_e2m1_pairs;
    case Type::f64:
      return decode<double, double, f64_element>;
    default:
      return nullptr;
  }
}

Decoder<double> byte_decoder(Type type) {
  switch (type) {
    case Type::e3m2:
      return decode<double, std::uint8_t, e3m2_element>;
    case Type::e2m3:
      return decode<double, std::uint8_t, e2m3_element>;
    case Type::e2m1:
      return decode<double, std::uint8_t, e2m1_element>;
    default:
      return float_decoder(type);
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

}  // namespace ak::emulator
