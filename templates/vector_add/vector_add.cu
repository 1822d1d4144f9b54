/* alphakernel
{
  "tunables": {
    "BLOCK": {"values": [64, 128, 256, 512, 1024], "default": 256},
    "VEC_BYTES": {"values": [4, 8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8], "default": 4},
    "CACHE": {"values": [0, 1], "default": 1},
    "PERSISTENT": {"values": [0, 1], "default": 0}
  },
  "let": {
    "VEC": "VEC_BYTES // (4 if dtype == 'float32' else 2)",
    "TILES": "ceil_div(N, BLOCK * VEC * UNROLL)",
    "BLOCKS": "min(TILES, SM_COUNT * max(1, 2048 // BLOCK)) if PERSISTENT else TILES"
  },
  "launches": [
    {"kernel": "vector_add", "grid": ["BLOCKS"], "block": ["BLOCK"], "args": ["a", "b", "c", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// c = a + b. A block owns a tile of BLOCK * VEC * UNROLL neighbouring elements. Each thread first issues UNROLL
// independent loads of VEC_BYTES from a and from b, then adds and stores, so that enough bytes are in flight to hide
// the latency of device memory; neighbouring threads touch neighbouring vectors.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 256;
constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 4;
constexpr int CACHE = 1;
constexpr int PERSISTENT = 0;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
using Pack = ak::Pack<scalar_t, VEC>;

__device__ __forceinline__ Pack load(const scalar_t* address) { return ak::load<VEC, HINT>(address); }

__device__ __forceinline__ scalar_t add(scalar_t x, scalar_t y) {
  return static_cast<scalar_t>(static_cast<float>(x) + static_cast<float>(y));
}

__device__ __forceinline__ Pack add(const Pack& x, const Pack& y) {
  Pack sum;
#pragma unroll
  for (int i = 0; i < VEC; ++i) sum.value[i] = add(x.value[i], y.value[i]);
  return sum;
}

// All vectors of the tile lie inside the arrays: no tests between the loads.
__device__ __forceinline__ void add_full_tile(const scalar_t* a, const scalar_t* b, scalar_t* c, long long first) {
  Pack x[UNROLL], y[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    x[u] = load(a + first + static_cast<long long>(u) * BLOCK * VEC);
    y[u] = load(b + first + static_cast<long long>(u) * BLOCK * VEC);
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) ak::store<HINT>(c + first + static_cast<long long>(u) * BLOCK * VEC, add(x[u], y[u]));
}

// The last tile: whole vectors where they fit, then single elements (at most VEC - 1).
__device__ __forceinline__ void add_last_tile(const scalar_t* a, const scalar_t* b, scalar_t* c, long long first,
                                              long long n) {
#pragma unroll 1
  for (int u = 0; u < UNROLL; ++u) {
    const long long start = first + static_cast<long long>(u) * BLOCK * VEC;
    if (start + VEC <= n) {
      ak::store<HINT>(c + start, add(load(a + start), load(b + start)));
    } else {
#pragma unroll 1
      for (long long i = start; i < n; ++i) c[i] = add(a[i], b[i]);
    }
  }
}

// a, b, c: n elements each, 16-byte aligned.
__global__ void __launch_bounds__(BLOCK)
    vector_add(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, scalar_t* __restrict__ c, long long n) {
  constexpr long long kTile = static_cast<long long>(BLOCK) * VEC * UNROLL;
  // With PERSISTENT the grid is as large as the device holds and strides over the tiles; else one tile a block.
  for (long long tile = blockIdx.x * kTile; tile < n; tile += gridDim.x * kTile) {
    const long long first = tile + static_cast<long long>(threadIdx.x) * VEC;
    if (tile + kTile <= n) {
      add_full_tile(a, b, c, first);
    } else {
      add_last_tile(a, b, c, first, n);
    }
    if (PERSISTENT == 0) break;
  }
}
