// SPDX-License-Identifier: Apache-2.0
// Narrow number formats: fp8 (e4m3, e5m2) and int4 in packs, to and from 16 and 32 bits.
//
// fp8: two numbers in 16 bits, the first in the low byte; conversions round to nearest even and saturate (one instruction
// from sm_89 on; before, about 10 of integers a number, and there is no unpacking). int4: eight numbers in 32 bits, the
// first in the lowest 4 bits. Unpacking int4 puts the bits into the mantissa of a known power of two and takes that
// away: 11 instructions for eight numbers, no conversion.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/elements.cuh>
#include <ak/vectors.cuh>

namespace ak {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
[[maybe_unused]] constexpr bool kFp8Conversions = false;
#else
[[maybe_unused]] constexpr bool kFp8Conversions = true;
#endif

/// The largest number of a format; of s8 the largest whose negative there is, too.
template <class Format>
constexpr float kLargest = kSame<Format, e4m3> ? 448.0f : kSame<Format, e5m2> ? 57344.0f : 127.0f;

// A float as fp8 without the instruction: rounding adds half of what is cut off, less one where the result is even.
template <class Format>
__device__ __forceinline__ u32 fp8_of(float x) {
  constexpr int kMantissa = kSame<Format, e4m3> ? 3 : 2, kBias = kSame<Format, e4m3> ? 7 : 15, kCut = 23 - kMantissa;
  constexpr u32 kLowest = static_cast<u32>(128 - kBias) << 23;  // bits of the smallest normal number
  const u32 sign = __float_as_uint(x) >> 24 & 0x80u;
  if (x != x) return sign | 0x7fu;
  const float size = fminf(fabsf(x), kLargest<Format>);
  const u32 bits = __float_as_uint(size);
  if (bits < kLowest) {  // multiples of one step, which this power of two has as its last bit
    const float aligned = __uint_as_float(static_cast<u32>(151 - kBias - kMantissa) << 23);
    return sign | (__float_as_uint(size + aligned) & 0xffu);
  }
  const u32 rebased = bits - (kLowest - (1u << 23)) + (1u << (kCut - 1)) - 1u + (bits >> kCut & 1u);
  return sign | rebased >> kCut;
}

/// Two floats as fp8. Format: e4m3 (up to 448) or e5m2 (up to 57344).
template <class Format>
__device__ __forceinline__ u16 pack_fp8(float first, float second) {
  u16 pair;
  if constexpr (!kFp8Conversions) {
    pair = static_cast<u16>(fp8_of<Format>(first) | fp8_of<Format>(second) << 8);
  } else if constexpr (kSame<Format, e4m3>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  }
  return pair;
}
/// Four floats as fp8 in 32 bits.
template <class Format>
__device__ __forceinline__ u32 pack_fp8(float a, float b, float c, float d) {
  return pack_fp8<Format>(a, b) | static_cast<u32>(pack_fp8<Format>(c, d)) << 16;
}
/// Two fp8 numbers as a pair of f16, exactly.
template <class Format>
__device__ __forceinline__ __half2 unpack_fp8(u16 pair) {
  u32 halves;
  if constexpr (kSame<Format, e4m3>) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  } else {
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  }
  return *reinterpret_cast<__half2*>(&halves);
}

// (word & MASK) | BITS in one instruction.
template <u32 MASK, u32 BITS>
__device__ __forceinline__ u32 put_bits(u32 word) {
  u32 result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "n"(MASK), "n"(BITS));
  return result;
}

/// Eight unsigned 4-bit numbers less `zero`, as f16: pairs[i] has numbers i and i + 4, as two of them are 16 bits apart.
__device__ __forceinline__ void unpack_int4(u32 word, __half2 (&pairs)[4], int zero = 8) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {  // 0x6400 is 1024, whose last bit of mantissa is 1
    const u32 bits = put_bits<0x000f000fu, 0x64006400u>(word >> (4 * i));
    pairs[i] = __hsub2(*reinterpret_cast<const __half2*>(&bits), __half2half2(__int2half_rn(1024 + zero)));
  }
}
/// The same as bf16.
__device__ __forceinline__ void unpack_int4(u32 word, __nv_bfloat162 (&pairs)[4], int zero = 8) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {  // 0x4300 is 128, whose last bit of mantissa is 1
    const u32 bits = put_bits<0x000f000fu, 0x43004300u>(word >> (4 * i));
    pairs[i] = __hsub2(*reinterpret_cast<const __nv_bfloat162*>(&bits), __bfloat162bfloat162(__int2bfloat16_rn(128 + zero)));
  }
}

/// Number i of a word of signed 4-bit numbers, and a word with numbers[0] (-8 to 7) lowest.
__device__ __forceinline__ int int4_at(u32 word, int i) { return static_cast<int>(word << (28 - 4 * i)) >> 28; }
__device__ __forceinline__ u32 pack_int4(const int (&numbers)[8]) {
  u32 word = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) word |= (static_cast<u32>(numbers[i]) & 15u) << (4 * i);
  return word;
}

/// Four floats as int8 in 32 bits, rounded to nearest even and saturated.
__device__ __forceinline__ u32 pack_int8(float a, float b, float c, float d) {
  const float numbers[4] = {a, b, c, d};
  u32 word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int number = min(max(__float2int_rn(numbers[i]), -128), 127);
    word |= (static_cast<u32>(number) & 255u) << (8 * i);
  }
  return word;
}

/// Quantising with a scale: `scale_of` the largest magnitude that there is makes it the largest number of Format;
/// `factor_of` is the scale's inverse. Below 2^-100, zeros among it, the scale stays the same: both are normal numbers.
template <class Format>
__device__ __forceinline__ float scale_of(float largest) {
  return fmaxf(largest, 0x1p-100f) / kLargest<Format>;
}
template <class Format>
__device__ __forceinline__ float factor_of(float largest) {
  return kLargest<Format> / fmaxf(largest, 0x1p-100f);
}

/// COUNT floats times `factor` as codes of one byte (e4m3, e5m2, s8), rounded to nearest even and saturated.
template <class Format, int COUNT>
__device__ __forceinline__ Pack<unsigned char, COUNT> quantise(const float (&x)[COUNT], float factor) {
  static_assert(COUNT < 4 || COUNT % 4 == 0);
  Pack<unsigned char, COUNT> codes;
#pragma unroll
  for (int i = 0; i < COUNT; i += 4) {
    float four[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) four[e] = i + e < COUNT ? x[i + e < COUNT ? i + e : i] * factor : 0.0f;
    u32 word;
    if constexpr (kSame<Format, s8>) {
      word = pack_int8(four[0], four[1], four[2], four[3]);
    } else {
      word = pack_fp8<Format>(four[0], four[1], four[2], four[3]);
    }
if constexpr (COUNT % 4 == 0) {
      reinterpret_cast<u32*>(&codes)[i / 4] = word;
    } else {
#pragma unroll
      for (int e = 0; e < COUNT; ++e) codes.value[e] = static_cast<unsigned char>(word >> 8 * e);
    }
  }
  return codes;
}

}  // namespace ak
