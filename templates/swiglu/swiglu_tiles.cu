/* alphakernel
{
  "tunables": {
    "BLOCK": {"values": [64, 128, 256, 512, 1024], "default": 256},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8], "default": 2},
    "CACHE": {"values": [0, 1], "default": 1},
    "FAST": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [0, 1, 2, 4, 8], "default": 0}
  },
  "starts": [
    {"BLOCK": 64, "CACHE": 0},
    {"VEC_BYTES": 8}
  ],
  "constraints": ["BLOCK * max(BLOCKS_PER_SM, 1) <= 2048", "BLOCK * max(BLOCKS_PER_SM, 1) * (UNROLL * VEC_BYTES // 2 + 24) <= 65536"],
  "let": {
    "WIDTH": "VEC_BYTES // sizeof_x // (2 if layout == 'interleaved' else 1)",
    "WIDE": "N % WIDTH == 0",
    "TILES": "ceil_div(M * N, BLOCK * UNROLL * WIDTH)",
    "BLOCKS": "min(TILES, SM_COUNT * BLOCKS_PER_SM) if BLOCKS_PER_SM else TILES"
  },
  "launches": [
    {"kernel": "gate<WIDTH>", "grid": ["BLOCKS"], "block": ["BLOCK"],
     "args": ["x", "y", {"i32": "M * N // WIDTH"}, {"i32": "N // WIDTH"}], "when": "WIDE"},
    {"kernel": "gate<1>", "grid": ["ceil_div(M * N, BLOCK * UNROLL)"], "block": ["BLOCK"],
     "args": ["x", "y", {"i32": "M * N"}, {"i32": "N"}], "when": "not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = f(gate) * up, element by element; gate and up are the halves of a row, or its even and odd columns. A tile is
// BLOCK * UNROLL vectors of results: every thread first issues all of its loads. Loads are VEC_BYTES: of halves a vector
// of each makes a vector of results, of neighbouring pairs one makes half a vector. With BLOCKS_PER_SM > 0 blocks stay and
// take tiles in turn. FAST takes the hardware's exponential.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 256;
constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 2;
constexpr int CACHE = 1;
constexpr int FAST = 1;
constexpr int BLOCKS_PER_SM = 0;
using scalar_t = float;
#define AK_LAYOUT_HALVES 1
#define AK_FUNCTION_SILU 1
#endif

#ifdef AK_LAYOUT_INTERLEAVED
constexpr bool INTERLEAVED = true;
#else
constexpr bool INTERLEAVED = false;
#endif
constexpr int WIDTH = VEC_BYTES / static_cast<int>(sizeof(scalar_t)) / (INTERLEAVED ? 2 : 1);  // results of a vector

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

__device__ __forceinline__ float function(float x) {
#if defined(AK_FUNCTION_GELU)
  return FAST == 1 && sizeof(scalar_t) == 2 ? ak::gelu_to_16_bits(x) : ak::gelu(x);
#elif defined(AK_FUNCTION_GELU_TANH)
  return FAST == 1 ? ak::fast_gelu_tanh(x) : ak::gelu_tanh(x);
#else
  return FAST == 1 ? ak::fast_silu(x) : x / (1.0f + expf(-x));
#endif
}

// Gates and ups of COUNT neighbouring results, as they come from memory.
template <int COUNT, bool NEIGHBOURS>
struct Pairs {  // halves of a row
  ak::Pack<scalar_t, COUNT> gates, ups;

  // Of result vector `vector`, of which a row has `across`.
  __device__ __forceinline__ void read(const scalar_t* x, unsigned int vector, unsigned int across) {
    // Every row before this one has its second half in between.
    const scalar_t* from = x + (static_cast<long long>(vector) + vector / across * across) * COUNT;
    gates = ak::load<COUNT, HINT>(from);
    ups = ak::load<COUNT, HINT>(from + static_cast<long long>(across) * COUNT);
  }
  __device__ __forceinline__ float gate(int i) const { return static_cast<float>(gates.value[i]); }
  __device__ __forceinline__ float up(int i) const { return static_cast<float>(ups.value[i]); }
};
template <int COUNT>
struct Pairs<COUNT, true> {  // neighbours
  ak::Pack<scalar_t, 2 * COUNT> both;

  __device__ __forceinline__ void read(const scalar_t* x, unsigned int vector, unsigned int) {
    both = ak::load<2 * COUNT, HINT>(x + 2ll * COUNT * vector);
  }
  __device__ __forceinline__ float gate(int i) const { return static_cast<float>(both.value[2 * i]); }
  __device__ __forceinline__ float up(int i) const { return static_cast<float>(both.value[2 * i + 1]); }
};

// `vectors` vectors of COUNT results, `across` a row.
template <int COUNT>
__global__ void __launch_bounds__(BLOCK) gate(const scalar_t* x, scalar_t* y, int vectors, int across) {
  const unsigned int end = static_cast<unsigned int>(vectors), step = gridDim.x * BLOCK * UNROLL;
  for (unsigned int first = blockIdx.x * BLOCK * UNROLL + threadIdx.x; first < end; first += step) {
    Pairs<COUNT, INTERLEAVED> pairs[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      if (first + u * BLOCK < end) pairs[u].read(x, first + u * BLOCK, static_cast<unsigned int>(across));
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      if (first + u * BLOCK >= end) continue;
      ak::Pack<scalar_t, COUNT> results;
#pragma unroll
      for (int i = 0; i < COUNT; ++i) results.value[i] = static_cast<scalar_t>(function(pairs[u].gate(i)) * pairs[u].up(i));
      ak::store<HINT>(y + static_cast<long long>(first + u * BLOCK) * COUNT, results);
    }
  }
}
