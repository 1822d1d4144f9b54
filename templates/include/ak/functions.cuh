// SPDX-License-Identifier: Apache-2.0
// Functions of kernels' results: fast exponentials and reciprocals, and activations (relu, gelu, silu, gated pairs).
//
// The fast ones are one instruction of the special function unit (16 a clock and SM) with about 22 correct bits; they
// take denormal numbers as 0. The precise ones cost tens of instructions.
#pragma once

namespace ak {

/// 2^x and 1 / x as the hardware has them.
__device__ __forceinline__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// e^x as a multiplication and fast_exp2.
__device__ __forceinline__ float fast_exp(float x) { return fast_exp2(x * 1.4426950408889634f); }

/// 2^x by 8 instructions of the arithmetic units, for part of the exponentials where the special function units are what
/// limits. x: at most 127. Within 1.1e-4 of 2^x from -126 on, below 2^-126 under that, 0 from -127 on. NaN is lost.
/// 2^f by a polynomial that is 1 at 0, for the distance f to the nearest whole number, which becomes an exponent (as in
/// Zadouri et al., FlashAttention-4, 2026); coefficients: least largest relative error for f from -0.5 to 0.5.
__device__ __forceinline__ float exp2_by_fma(float x) {
  constexpr float kWhole = 12582912.0f;  // 1.5 x 2^23: what is added to it loses all behind the point
  x = fmaxf(x, -127.0f);
  const float whole = x + kWhole, f = x - (whole - kWhole);
  const float power = fmaf(fmaf(fmaf(0.055009060f, f, 0.24221097f), f, 0.69328290f), f, 1.0f);
  return __int_as_float(__float_as_int(power) + (__float_as_int(whole) << 23));
}

/// The maximum of no numbers.
__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }

/// The larger one, and NaN where one is NaN, which fmaxf would lose.
__device__ __forceinline__ float maximum_or_nan(float x, float y) {
#if __CUDA_ARCH__ >= 800
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
#else
  return x < y || y != y ? y : x;
#endif
}

/// x, or 0 where it is below; NaN stays.
__device__ __forceinline__ float relu(float x) { return maximum_or_nan(x, 0.0f); }

/// x / (1 + e^-x), with the fast exponential.
__device__ __forceinline__ float silu(float x) { return x / (1.0f + __expf(-x)); }

/// x times the normal distribution's integral up to x, exactly (erfc).
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * erfcf(-x * 0.70710678118654752f); }

/// x / (1 + e^-u), fast: 4 instructions. For u far below 0 the quotient by an infinity is 0, as it should be.
__device__ __forceinline__ float fast_gated(float x, float u) {
  return __fdividef(x, 1.0f + __expf(-u));
}
/// silu and the approximation of gelu by tanh, fast.
__device__ __forceinline__ float fast_silu(float x) { return fast_gated(x, x); }
__device__ __forceinline__ float fast_gelu_tanh(float x) {
  return fast_gated(x, 1.5957691216057308f * (x + 0.044715f * x * x * x));
}
/// The approximation of gelu by tanh, x / (1 + e^(-2 sqrt(2 / pi) (x + 0.044715 x^3))).
__device__ __forceinline__ float gelu_tanh(float x) {
  return x / (1.0f + expf(-1.5957691216057308f * (x + 0.044715f * x * x * x)));
}

/// gelu for results of 16 bits: max(x, 0) - |x| Phi(-|x|) within 1e-7, where Phi, the normal distribution's integral, is
/// 2 to a polynomial (minimax on 0 to 6); past 12 it falls to 0 faster. About 12 instructions, one of them special.
__device__ __forceinline__ float gelu_to_16_bits(float x) {
  const float a = fminf(fabsf(x), 12.0f), beyond = a - fabsf(x);
  const float first =
      -0.45888038f + a * (-0.05327547f + a * (0.0079972164f + a * (-0.00074494121f + a * 3.0422145e-05f)));
  const float log_tail = -0.99999762f + a * (-1.1511626f + a * first);
  return relu(x) - a * fast_exp2(log_tail + 16.0f * beyond);
}

/// Gated pairs: the function of `gate` times `up`.
__device__ __forceinline__ float swiglu(float gate, float up) { return silu(gate) * up; }
__device__ __forceinline__ float geglu(float gate, float up) { return gelu(gate) * up; }
__device__ __forceinline__ float geglu_tanh(float gate, float up) { return gelu_tanh(gate) * up; }

}  // namespace ak
