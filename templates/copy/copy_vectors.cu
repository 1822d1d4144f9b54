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
    {"kernel": "copy_tiles", "grid": ["BLOCKS"], "block": ["BLOCK"], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x. A block owns a tile of BLOCK * VEC * UNROLL neighbouring elements. Each thread first issues UNROLL independent
// loads of VEC_BYTES, then stores them, so that enough bytes are in flight to hide the latency of device memory.
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

// All vectors of the tile lie inside the arrays: no tests between the loads.
__device__ __forceinline__ void copy_full_tile(const scalar_t* x, scalar_t* y, long long first) {
  Pack packs[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) packs[u] = ak::load<VEC, HINT>(x + first + static_cast<long long>(u) * BLOCK * VEC);
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) ak::store<HINT>(y + first + static_cast<long long>(u) * BLOCK * VEC, packs[u]);
}

// The last tile: whole vectors where they fit, then single elements (at most VEC - 1).
__device__ __forceinline__ void copy_last_tile(const scalar_t* x, scalar_t* y, long long first, long long n) {
#pragma unroll 1
  for (int u = 0; u < UNROLL; ++u) {
    const long long start = first + static_cast<long long>(u) * BLOCK * VEC;
    if (start + VEC <= n) {
      ak::store<HINT>(y + start, ak::load<VEC, HINT>(x + start));
    } else {
#pragma unroll 1
      for (long long i = start; i < n; ++i) y[i] = x[i];
    }
  }
}

// x, y: n elements each, 16-byte aligned.
__global__ void __launch_bounds__(BLOCK)
    copy_tiles(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long n) {
  constexpr long long kTile = static_cast<long long>(BLOCK) * VEC * UNROLL;
  // With PERSISTENT the grid is as large as the device holds and strides over the tiles; else one tile a block.
  for (long long tile = blockIdx.x * kTile; tile < n; tile += gridDim.x * kTile) {
    const long long first = tile + static_cast<long long>(threadIdx.x) * VEC;
    if (tile + kTile <= n) {
      copy_full_tile(x, y, first);
    } else {
      copy_last_tile(x, y, first, n);
    }
    if (PERSISTENT == 0) break;
  }
}
