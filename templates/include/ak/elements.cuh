// SPDX-License-Identifier: Apache-2.0
// Names of the element types that matrix units multiply, and pairs of 16-bit numbers.
//
// Types such as f16 say how bits are to be read; operands themselves travel as 32-bit registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/threads.cuh>

// Of cuda_fp8.h, which takes the compiler long to read.
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;

namespace ak {

/// Element types of operands. Sum is what their products are summed in.
struct f16 {
  using Sum = float;
  static constexpr int kBytes = 2;
};
struct bf16 {
  using Sum = float;
  static constexpr int kBytes = 2;
};
struct tf32 {
  using Sum = float;
  static constexpr int kBytes = 4;
};
struct e4m3 {
  using Sum = float;
  static constexpr int kBytes = 1;
};
struct e5m2 {
  using Sum = float;
  static constexpr int kBytes = 1;
};
struct s8 {
  using Sum = int;
  static constexpr int kBytes = 1;
};
struct u8 {
  using Sum = int;
  static constexpr int kBytes = 1;
};

// Whether two types are the same one.
template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;

// The element type of a C++ type.
template <class T>
struct ElementOf;
template <>
struct ElementOf<__nv_fp8_e4m3> {
  using type = e4m3;
};
template <>
struct ElementOf<__nv_fp8_e5m2> {
  using type = e5m2;
};
template <>
struct ElementOf<__half> {
  using type = f16;
};
template <>
struct ElementOf<__nv_bfloat16> {
  using type = bf16;
};
template <>
struct ElementOf<float> {
  using type = tf32;
};
template <>
struct ElementOf<signed char> {
  using type = s8;
};
template <>
struct ElementOf<unsigned char> {
  using type = u8;
};
/// Element<scalar_t>: f16 for __half, bf16 for __nv_bfloat16, tf32 for float, e4m3 and e5m2, s8 and u8 for bytes.
template <class T>
using Element = typename ElementOf<T>::type;

/// Rounds a pair to Type (f16 or bf16), `low` in the low half: one instruction.
template <class Type>
__device__ __forceinline__ u32 pack_pair(float low, float high) {
  u32 pair;
  if constexpr (kSame<Type, bf16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}
/// Both halves of a pair as floats, exactly.
template <class Type>
__device__ __forceinline__ float2 unpack_pair(u32 pair) {
  if constexpr (kSame<Type, bf16>) {
    return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
  } else {
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  }
}

/// Rounds to tf32 (10 bits of mantissa, ties away from zero), as bits of a float.
__device__ __forceinline__ u32 round_to_tf32(float x) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

}  // namespace ak
