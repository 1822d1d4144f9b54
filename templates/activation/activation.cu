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

#include <ak/functions.cuh>
#include <ak/vectors.cuh>

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

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
using Pack = ak::Pack<scalar_t, VEC>;

__device__ __forceinline__ float function(float x) {
#if defined(AK_FUNCTION_GELU)
  return FAST == 1 && sizeof(scalar_t) == 2 ? ak::gelu_to_16_bits(x) : ak::gelu(x);
#elif defined(AK_FUNCTION_GELU_TANH)
  return FAST == 1 ? ak::fast_gelu_tanh(x) : ak::gelu_tanh(x);
#elif defined(AK_FUNCTION_SILU)
  return FAST == 1 ? ak::fast_silu(x) : x / (1.0f + expf(-x));
#else
  return ak::relu(x);
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
  for (int u = 0; u < UNROLL; ++u) packs[u] = ak::load<VEC, HINT>(x + first + static_cast<long long>(u) * BLOCK * VEC);
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) ak::store<HINT>(y + first + static_cast<long long>(u) * BLOCK * VEC, apply(packs[u]));
}

// The last tile: whole vectors where they fit, then single elements (at most VEC - 1).
__device__ __forceinline__ void last_tile(const scalar_t* x, scalar_t* y, long long first, long long n) {
#pragma unroll 1
  for (int u = 0; u < UNROLL; ++u) {
    const long long start = first + static_cast<long long>(u) * BLOCK * VEC;
    if (start + VEC <= n) {
      ak::store<HINT>(y + start, apply(ak::load<VEC, HINT>(x + start)));
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
