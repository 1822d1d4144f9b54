/* alphakernel
{
  "tunables": {
    "BLOCK": {"values": [64, 128, 256, 512, 1024], "default": 256},
    "VEC_BYTES": {"values": [4, 8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8], "default": 4},
    "CACHE": {"values": [0, 1], "default": 1},
    "FAST": {"values": [0, 1], "default": 1}
  },
  "let": {
    "VEC": "VEC_BYTES // (4 if dtype == 'float32' else 2)",
    "TILES": "ceil_div(N, BLOCK * VEC * UNROLL)"
  },
  "launches": [
    {"kernel": "activation", "grid": ["TILES"], "block": ["BLOCK"], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = f(x). A block owns a tile of BLOCK * VEC * UNROLL neighbouring elements. Each thread first issues UNROLL
// independent loads of VEC_BYTES, then computes and stores, so that enough bytes are in flight to hide the latency of
// device memory; neighbouring threads touch neighbouring vectors. The function is computed in fp32. FAST uses the
// hardware's exponential and reciprocal, which cost 4 instructions where the precise ones cost tens.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 256;
constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 4;
constexpr int CACHE = 1;
constexpr int FAST = 1;
using scalar_t = float;
#define AK_FUNCTION_GELU 1
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// Built-in types that the cache-hint intrinsics know, by size.
template <int BYTES> struct Raw;
template <> struct Raw<4> { using type = unsigned int; };
template <> struct Raw<8> { using type = uint2; };
template <> struct Raw<16> { using type = uint4; };

union Pack {
  Raw<VEC_BYTES>::type raw;
  scalar_t value[VEC];
  __device__ Pack() {}
};

// CACHE 1: evict-first hints, as every element is touched once.
__device__ __forceinline__ Pack load(const scalar_t* address) {
  const auto* raw = reinterpret_cast<const Raw<VEC_BYTES>::type*>(address);
  Pack pack;
  pack.raw = CACHE == 1 ? __ldcs(raw) : *raw;
  return pack;
}

__device__ __forceinline__ void store(scalar_t* address, const Pack& pack) {
  auto* raw = reinterpret_cast<Raw<VEC_BYTES>::type*>(address);
  if (CACHE == 1) {
    __stcs(raw, pack.raw);
  } else {
    *raw = pack.raw;
  }
}

// x / (1 + exp(-u)). For u far below 0 the quotient by an infinity is 0, as it should be.
__device__ __forceinline__ float gated(float x, float u) {
  return FAST == 1 ? __fdividef(x, 1.0f + fminf(__expf(-u), 1e37f)) : x / (1.0f + expf(-u));
}

// The instructions themselves: the intrinsics add steps for denormal numbers.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// x/2 erfc(-x / sqrt(2)) as max(x, 0) - |x|/2 erfc(|x| / sqrt(2)), with erfc(z) within 1.5e-7 as a polynomial in
// 1 / (1 + p z) times exp(-z z) (Abramowitz and Stegun, 7.1.26): enough for results of 16 bits.
__device__ __forceinline__ float gelu_to_16_bits(float x) {
  const float a = fminf(fabsf(x), 64.0f);  // keeps infinity times zero away; the tail has vanished long before
  const float t = reciprocal(1.0f + 0.3275911f * 0.70710678f * a);
  const float half_series =
      t * (0.127414796f + t * (-0.142248368f + t * (0.7107068705f + t * (-0.7265760135f + t * 0.5307027145f))));
  return fmaxf(x, 0.0f) - a * half_series * power_of_2(-0.72134752f * a * a);
}

__device__ __forceinline__ float function(float x) {
#if defined(AK_FUNCTION_GELU)
  return FAST == 1 && sizeof(scalar_t) == 2 ? gelu_to_16_bits(x) : 0.5f * x * erfcf(x * -0.70710678118654752f);
#elif defined(AK_FUNCTION_GELU_TANH)
  return gated(x, 1.5957691216057308f * (x + 0.044715f * x * x * x));
#elif defined(AK_FUNCTION_SILU)
  return gated(x, x);
#else
  return fmaxf(x, 0.0f);
#endif
}

__device__ __forceinline__ scalar_t apply(scalar_t x) { return static_cast<scalar_t>(function(static_cast<float>(x))); }

__device__ __forceinline__ Pack apply(Pack pack) {
#pragma unroll
  for (int i = 0; i < VEC; ++i) pack.value[i] = apply(pack.value[i]);
  return pack;
}

// All vectors of the tile lie inside the arrays: no tests between the loads.
__device__ __forceinline__ void full_tile(const scalar_t* x, scalar_t* y, long long first) {
  Pack packs[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) packs[u] = load(x + first + static_cast<long long>(u) * BLOCK * VEC);
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) store(y + first + static_cast<long long>(u) * BLOCK * VEC, apply(packs[u]));
}

// The last tile: whole vectors where they fit, then single elements (at most VEC - 1).
__device__ __forceinline__ void last_tile(const scalar_t* x, scalar_t* y, long long first, long long n) {
#pragma unroll 1
  for (int u = 0; u < UNROLL; ++u) {
    const long long start = first + static_cast<long long>(u) * BLOCK * VEC;
    if (start + VEC <= n) {
      store(y + start, apply(load(x + start)));
    } else {
#pragma unroll 1
      for (long long i = start; i < n; ++i) y[i] = apply(x[i]);
    }
  }
}

// x, y: n elements each, 16-byte aligned.
__global__ void __launch_bounds__(BLOCK)
    activation(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long n) {
  constexpr long long kTile = static_cast<long long>(BLOCK) * VEC * UNROLL;
  const long long tile = blockIdx.x * kTile;
  const long long first = tile + static_cast<long long>(threadIdx.x) * VEC;
  if (tile + kTile <= n) {
    full_tile(x, y, first);
  } else {
    last_tile(x, y, first, n);
  }
}
