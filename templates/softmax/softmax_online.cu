/* alphakernel
{
  "tunables": {
    "BLOCK": {"values": [32, 64, 128, 256, 512, 1024], "default": 256},
    "VEC_BYTES": {"values": [4, 8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8], "default": 2},
    "CACHE": {"values": [0, 1], "default": 0},
    "FAST_EXP": {"values": [0, 1], "default": 1},
    "REVERSE": {"values": [0, 1], "default": 1}
  },
  "launches": [
    {"kernel": "softmax_online", "grid": ["M"], "block": ["BLOCK"], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = softmax of each row of x, one block a row of any length. Every thread keeps a running maximum and the sum of
// exponentials relative to it (online softmax), so that one reading gives both; a second reading, from the caches
// where the row still is, writes the result. REVERSE 1 walks the second time from the end of the row, whose lines
// were read last.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 256;
constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 2;
constexpr int CACHE = 0;
constexpr int FAST_EXP = 1;
constexpr int REVERSE = 1;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// Reads use the caches: the row is read twice. CACHE 1: evict-first hint, so that results do not push rows that are still
// to be read out of L2.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
template <int COUNT>
using Pack = ak::Pack<scalar_t, COUNT>;

// FAST_EXP 1: one hardware exponential. Subtracting the maximum before scaling by log2(e) keeps the largest terms,
// whose argument is near 0, exact to the last bits.
__device__ __forceinline__ float exp_of(float x) { return FAST_EXP == 0 ? expf(x) : ak::fast_exp(x); }

// A maximum and the sum of exponentials relative to it. Starts at the lowest finite number, so that a thread that saw
// no element merges as 0 * exp(very negative).
struct Running {
  float maximum = -3.402823466e38f;
  float sum = 0.0f;

  __device__ __forceinline__ void raise(float next) {
    sum *= exp_of(maximum - next);
    maximum = next;
  }
};

__device__ __forceinline__ Running merge(Running a, Running b) {
  const float maximum = fmaxf(a.maximum, b.maximum);
  a.raise(maximum);
  b.raise(maximum);
  a.sum += b.sum;
  return a;
}

__device__ __forceinline__ Running shuffle_xor(Running value, int offset) {
  value.maximum = ak::shuffle_xor(value.maximum, offset);
  value.sum = ak::shuffle_xor(value.sum, offset);
  return value;
}

// The same value in every thread of the block.
__device__ __forceinline__ Running merge_block(Running value) {
  value = ak::reduce_lanes(value, merge);
  constexpr int kWarps = BLOCK / 32;
  if constexpr (kWarps > 1) {
    __shared__ float maxima[kWarps], sums[kWarps];
    if (threadIdx.x % 32 == 0) {
      maxima[threadIdx.x / 32] = value.maximum;
      sums[threadIdx.x / 32] = value.sum;
    }
    __syncthreads();
    value.maximum = maxima[threadIdx.x % kWarps];
    value.sum = sums[threadIdx.x % kWarps];
    value = ak::reduce_lanes<kWarps>(value, merge);
  }
  return value;
}

// Takes UNROLL vectors of a full tile into `running`: all loads first, one rescaling for all of them.
template <int WIDTH>
__device__ __forceinline__ void take_tile(const scalar_t* x, Running& running) {
  Pack<WIDTH> packs[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) packs[u] = ak::load<WIDTH>(x + u * BLOCK * WIDTH);
  float maximum = running.maximum;
#pragma unroll
  for (int j = 0; j < UNROLL * WIDTH; ++j) {
    maximum = fmaxf(maximum, static_cast<float>(packs[j / WIDTH].value[j % WIDTH]));
  }
  running.raise(maximum);
#pragma unroll
  for (int j = 0; j < UNROLL * WIDTH; ++j) {
    running.sum += exp_of(static_cast<float>(packs[j / WIDTH].value[j % WIDTH]) - maximum);
  }
}

template <int WIDTH>
__device__ __forceinline__ void write_vector(const scalar_t* x, scalar_t* y, float maximum, float scale) {
  Pack<WIDTH> pack = ak::load<WIDTH>(x);
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    pack.value[i] = static_cast<scalar_t>(exp_of(static_cast<float>(pack.value[i]) - maximum) * scale);
  }
  ak::store<HINT>(y, pack);
}

// One row of n elements, n % WIDTH == 0 and the row aligned to WIDTH elements.
template <int WIDTH>
__device__ __forceinline__ void softmax_row(const scalar_t* x, scalar_t* y, long long n) {
  constexpr int kStep = BLOCK * WIDTH;
  constexpr int kTile = kStep * UNROLL;
  const int lane = static_cast<int>(threadIdx.x) * WIDTH;
  const long long full = n - n % kTile;

  Running running;
  for (long long tile = 0; tile < full; tile += kTile) take_tile<WIDTH>(x + tile + lane, running);
#pragma unroll 1
  for (long long i = full + lane; i < n; i += kStep) {
    const Pack<WIDTH> pack = ak::load<WIDTH>(x + i);
    float maximum = running.maximum;
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) maximum = fmaxf(maximum, static_cast<float>(pack.value[k]));
    running.raise(maximum);
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) running.sum += exp_of(static_cast<float>(pack.value[k]) - maximum);
  }
  running = merge_block(running);

  const float scale = 1.0f / running.sum;
  const long long steps = (n + kStep - 1) / kStep;
#pragma unroll UNROLL
  for (long long step = 0; step < steps; ++step) {
    const long long i = (REVERSE == 1 ? steps - 1 - step : step) * kStep + lane;
    if (i < n) write_vector<WIDTH>(x + i, y + i, running.maximum, scale);
  }
}

// x, y: one row of n elements a block. Rows whose length is no multiple of VEC are not aligned to a vector.
__global__ void __launch_bounds__(BLOCK)
    softmax_online(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long n) {
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  if (n % VEC == 0) {
    softmax_row<VEC>(x, y, n);
  } else {
    softmax_row<1>(x, y, n);
  }
}
