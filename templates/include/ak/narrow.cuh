// SPDX-License-Identifier: Apache-2.0
// Narrow number formats: fp8 (e4m3, e5m2) and int4 in packs, to and from 16 and 32 bits.
//
// fp8: two numbers in 16 bits, the first in the low byte; conversions round to nearest even and saturate (sm_89 and
// later). int4: eight numbers in 32 bits, the first in the lowest 4 bits. Unpacking int4 puts the bits into the mantissa
// of a known power of two and takes that away: 11 instructions for eight numbers, no conversion.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/elements.cuh>

namespace ak {

/// Two floats as fp8. Format: e4m3 (up to 448) or e5m2 (up to 57344).
template <class Format>
__device__ __forceinline__ u16 pack_fp8(float first, float second) {
  u16 pair;
  if constexpr (kSame<Format, e4m3>) {
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

}  // namespace ak
