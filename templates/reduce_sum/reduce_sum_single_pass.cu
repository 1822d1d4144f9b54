/* alphakernel
{
  "tunables": {
    "BLOCK": {"values": [128, 256, 512, 1024], "default": 512},
    "VEC_BYTES": {"values": [4, 8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8], "default": 4},
    "BLOCKS_PER_SM": {"values": [1, 2, 4, 8, 16], "default": 4},
    "CACHE": {"values": [0, 1], "default": 0}
  },
  "let": {
    "VEC": "VEC_BYTES // (4 if dtype == 'float32' else 2)",
    "BLOCKS": "min(ceil_div(N, BLOCK * VEC * UNROLL), SM_COUNT * BLOCKS_PER_SM)"
  },
  "workspace": [
    {"name": "partial", "dtype": "float32", "count": "BLOCKS", "init": "none"},
    {"name": "finished", "dtype": "int32", "count": 1, "init": "zero"}
  ],
  "launches": [
    {"kernel": "sum_all", "grid": ["BLOCKS"], "block": ["BLOCK"], "args": ["x", "partial", "finished", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = sum of x in one launch: every block leaves the sum of its tiles in `partial`; the block that finishes last adds
// those. Which block that is varies, the order in which it adds does not, so repeated runs agree bit by bit.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/handover.cuh>
#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 512;
constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 4;
constexpr int CACHE = 0;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// CACHE 1: evict-first hint, as every element is read once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::read_only;
using Pack = ak::Pack<scalar_t, VEC>;

// This thread's share of x: grid-stride over tiles, UNROLL loads in flight, UNROLL independent sums.
__device__ __forceinline__ float thread_sum(const scalar_t* x, long long n) {
  constexpr long long kTile = static_cast<long long>(BLOCK) * VEC * UNROLL;
  float sums[UNROLL] = {};
  const long long stride = gridDim.x * kTile;
  long long first = blockIdx.x * kTile + static_cast<long long>(threadIdx.x) * VEC;
  long long end = (blockIdx.x + 1LL) * kTile;  // of this block's tile
  for (; end <= n; first += stride, end += stride) {
    Pack packs[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) packs[u] = ak::load<VEC, HINT>(x + first + static_cast<long long>(u) * BLOCK * VEC);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) sums[u] += sum_of(packs[u]);
  }
  // At most one block has a part of the last tile: whole vectors where they fit, then single elements.
#pragma unroll 1
  for (int u = 0; u < UNROLL; ++u) {
    const long long start = first + static_cast<long long>(u) * BLOCK * VEC;
    if (start + VEC <= n) {
      sums[0] += sum_of(ak::load<VEC, HINT>(x + start));
    } else {
#pragma unroll 1
      for (long long i = start; i < n; ++i) sums[0] += static_cast<float>(x[i]);
    }
  }
#pragma unroll
  for (int u = 1; u < UNROLL; ++u) sums[0] += sums[u];
  return sums[0];
}

// x: n elements, 16-byte aligned. partial: one sum a block. finished: zero at the start.
__global__ void __launch_bounds__(BLOCK)
    sum_all(const scalar_t* __restrict__ x, float* partial, unsigned int* finished, scalar_t* __restrict__ y, long long n) {
  const float sum = ak::block_sum<BLOCK>(thread_sum(x, n));
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  if (!ak::is_last_block(finished)) return;
  float total = 0.0f;
  // __ldcg reads from L2, where the other blocks' sums are: this SM's L1 could hold older lines.
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(gridDim.x); i += BLOCK) total += __ldcg(partial + i);
  total = ak::block_sum<BLOCK>(total);
  if (threadIdx.x == 0) y[0] = static_cast<scalar_t>(total);
}
