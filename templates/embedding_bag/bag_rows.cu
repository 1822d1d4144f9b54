/* alphakernel
{
  "tunables": {
    "LANES": {"values": [8, 16, 32, 64], "default": 32},
    "THREADS": {"values": [64, 128, 256, 512], "default": 128},
    "ITEMS": {"values": [1, 2, 4, 8, 16], "default": 8}
  },
  "starts": [
    {"ITEMS": 2, "LANES": 16, "THREADS": 64},
    {"ITEMS": 4, "LANES": 8},
    {"ITEMS": 2, "LANES": 8, "THREADS": 256}
  ],
  "constraints": ["THREADS * ITEMS <= 4096"],
  "let": {
    "VEC": "16 // sizeof_table if H * sizeof_table % 16 == 0 else 1"
  },
  "launches": [
    {"kernel": "bags<16 / sizeof(scalar_t)>", "grid": ["ceil_div(B, THREADS // LANES)", "ceil_div(H, LANES * VEC)"], "block": ["THREADS"],
     "args": ["table", "index", "offsets", {"optional": "weights"}, "out", {"i32": "B"}, {"i32": "N"}, {"i32": "V"}, {"i32": "H"}],
     "when": "VEC > 1"},
    {"kernel": "bags<1>", "grid": ["ceil_div(B, THREADS // LANES)", "ceil_div(H, LANES * VEC)"], "block": ["THREADS"],
     "args": ["table", "index", "offsets", {"optional": "weights"}, "out", {"i32": "B"}, {"i32": "N"}, {"i32": "V"}, {"i32": "H"}],
     "when": "VEC == 1"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The sum or the mean of the rows of each bag. LANES threads take a bag, a pack of 16 bytes of its columns each, and walk
// through its entries ITEMS at a time: indices first, then all their rows, so that ITEMS packs a thread are under way. Sums
// are in fp32 and in the order of entries. Wider rows are cut into several tiles of columns, each with threads of its own.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 32;
constexpr int THREADS = 128;
constexpr int ITEMS = 8;
constexpr bool WEIGHTED = false;
using scalar_t = float;
#endif

#ifdef AK_MODE_MEAN
constexpr bool MEAN = true;
#else
constexpr bool MEAN = false;
#endif

template <int VEC>
__global__ void __launch_bounds__(THREADS)
    bags(const scalar_t* __restrict__ table, const int* __restrict__ index, const int* __restrict__ offsets,
         const float* __restrict__ weights, scalar_t* __restrict__ out, int bag_count, int n, int v, int h) {
  const int bag = static_cast<int>(blockIdx.x) * (THREADS / LANES) + static_cast<int>(threadIdx.x) / LANES;
  const int column = (static_cast<int>(blockIdx.y) * LANES + static_cast<int>(threadIdx.x) % LANES) * VEC;
  if (bag >= bag_count || column >= h) return;
  const int end = min(offsets[bag + 1], n);
  float sums[VEC] = {};
  int count = 0;
  for (int entry = max(offsets[bag], 0); entry < end; entry += ITEMS) {
    int rows[ITEMS];
    float shares[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      rows[k] = entry + k < end ? index[entry + k] : -1;
      shares[k] = WEIGHTED && entry + k < end ? weights[entry + k] : 1.0f;
    }
    ak::Pack<scalar_t, VEC> packs[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (rows[k] >= 0 && rows[k] < v) {
        packs[k] = ak::load<VEC, ak::Cache::read_only>(table + static_cast<long long>(rows[k]) * h + column);
      }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (rows[k] < 0 || rows[k] >= v) continue;
      ++count;
#pragma unroll
      for (int i = 0; i < VEC; ++i) sums[i] += shares[k] * static_cast<float>(packs[k].value[i]);
    }
  }
  const float divisor = MEAN ? static_cast<float>(max(count, 1)) : 1.0f;
  ak::Pack<scalar_t, VEC> result;
#pragma unroll
  for (int i = 0; i < VEC; ++i) result.value[i] = static_cast<scalar_t>(sums[i] / divisor);
  ak::store<ak::Cache::streaming>(out + static_cast<long long>(bag) * h + column, result);
}
