/* alphakernel
{
  "tunables": {
    "LANES": {"values": [8, 16, 32, 64], "default": 16},
    "THREADS": {"values": [128, 256, 512, 1024], "default": 512},
    "ITEMS": {"values": [1, 2, 4, 8], "default": 4},
    "PARTS": {"values": [1, 4, 8, 16], "default": 8}
  },
  "let": {
    "VEC": "16 // sizeof_x if H * sizeof_x % 16 == 0 else 1",
    "SPLIT": "max(1, min(PARTS, S // 64)) if B < 2 * SM_COUNT else 1"
  },
  "workspace": [
    {"name": "parts", "dtype": "float32", "count": "B * SPLIT * H if SPLIT > 1 else 0"},
    {"name": "arrived", "dtype": "int32", "count": "B if SPLIT > 1 else 0", "init": "zero"}
  ],
  "launches": [
    {"kernel": "pool<16 / sizeof(scalar_t)>", "grid": ["SPLIT", "B"], "block": ["THREADS"], "shared_bytes": "4 * H",
     "args": ["x", "lengths", "y", "parts", "arrived", {"i32": "S"}, {"i32": "H"}], "when": "VEC > 1"},
    {"kernel": "pool<1>", "grid": ["SPLIT", "B"], "block": ["THREADS"], "shared_bytes": "4 * H",
     "args": ["x", "lengths", "y", "parts", "arrived", {"i32": "S"}, {"i32": "H"}], "when": "VEC == 1"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The mean over the tokens of a sequence, and its norm. LANES threads take neighbouring columns, the others of the block
// different tokens, ITEMS under way at once; their sums meet in shared memory, where the sum of a whole token lies at the
// end, so that the norm is over all columns, whatever their number. Few sequences are split over blocks along their tokens;
// the block of a sequence that arrives last adds the parts up in their order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/handover.cuh>
#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 16;
constexpr int THREADS = 512;
constexpr int ITEMS = 4;
using scalar_t = float;
#endif

constexpr int LINES = THREADS / LANES;  // tokens at a time

// Adds VEC columns of this thread's tokens in [begin, end).
template <int VEC>
__device__ __forceinline__ void add_tokens(const scalar_t* x, int begin, int end, int h, float (&sums)[VEC]) {
  for (int token = begin + static_cast<int>(threadIdx.x) / LANES; token < end; token += LINES * ITEMS) {
    ak::Pack<scalar_t, VEC> packs[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const int t = token + k * LINES;
      if (t < end) packs[k] = ak::load<VEC, ak::Cache::streaming>(x + static_cast<long long>(t) * h);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (token + k * LINES >= end) continue;
#pragma unroll
      for (int i = 0; i < VEC; ++i) sums[i] += static_cast<float>(packs[k].value[i]);
    }
  }
}

// y = sums / norm of sums * n, as the mean would be: both are divided by n.
__device__ __forceinline__ void write_scaled(const float* sums, scalar_t* y, int n, int h) {
  const int thread = static_cast<int>(threadIdx.x);
  __shared__ float squares[THREADS / 32];
  const float share = 1.0f / static_cast<float>(max(n, 1));
  float square = 0.0f;
  for (int i = thread; i < h; i += THREADS) square += (sums[i] * share) * (sums[i] * share);
  square = ak::reduce_lanes(square, ak::Sum());
  if (thread % 32 == 0) squares[thread / 32] = square;
  __syncthreads();
  square = ak::reduce_lanes<THREADS / 32>(squares[thread % (THREADS / 32)], ak::Sum());
  const float scale = share / fmaxf(sqrtf(square), 1e-12f);
  for (int i = thread; i < h; i += THREADS) y[i] = static_cast<scalar_t>(sums[i] * scale);
}

// Block (part, b): a part of the tokens of sequence b. parts: room for h floats a part; arrived: zero at the start.
template <int VEC>
__global__ void __launch_bounds__(THREADS)
    pool(const scalar_t* __restrict__ x, const int* __restrict__ lengths, scalar_t* __restrict__ y, float* parts,
         unsigned int* arrived, int s, int h) {
  extern __shared__ float sums[];
  __shared__ float lines[LINES][LANES * VEC + 1];
  const int split = static_cast<int>(gridDim.x), part = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % LANES, line = thread / LANES;
  const long long b = blockIdx.y;
  const int n = min(max(lengths[b], 0), s);
  const int begin = static_cast<int>(static_cast<long long>(n) * part / split);
  const int end = static_cast<int>(static_cast<long long>(n) * (part + 1) / split);

  for (int tile = 0; tile < h; tile += LANES * VEC) {
    const int column = tile + lane * VEC;
    float own[VEC] = {};
    if (column < h) add_tokens<VEC>(x + b * s * h + column, begin, end, h, own);
#pragma unroll
    for (int i = 0; i < VEC; ++i) lines[line][lane * VEC + i] = own[i];
    __syncthreads();
    for (int i = thread; i < LANES * VEC && tile + i < h; i += THREADS) {
      float sum = 0.0f;
      for (int other = 0; other < LINES; ++other) sum += lines[other][i];
      sums[tile + i] = sum;
    }
    __syncthreads();
  }

  if (split > 1) {
    float* all = parts + b * split * h;
    for (int i = thread; i < h; i += THREADS) all[static_cast<long long>(part) * h + i] = sums[i];
    __syncthreads();
    if (!ak::is_last_block(arrived + b)) return;
    for (int i = thread; i < h; i += THREADS) {
      float sum = 0.0f;
      for (int other = 0; other < split; ++other) sum += __ldcg(all + static_cast<long long>(other) * h + i);
      sums[i] = sum;
    }
    __syncthreads();
  }
  write_scaled(sums, y + b * h, n, h);
}
