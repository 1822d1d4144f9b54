/* alphakernel
{
  "tunables": {
    "WARPS": {"values": [1, 2, 4, 8, 16], "default": 4},
    "TOKENS": {"values": [1, 2, 4], "default": 1}
  },
  "let": {
    "BLOCKS": "ceil_div(T, WARPS * TOKENS)",
    "CHUNKS": "ceil_div(T * K, 256)"
  },
  "workspace": [{"name": "counts", "dtype": "int32", "count": "CHUNKS * E"}],
  "launches": [
    {"kernel": "choose<1>", "grid": ["BLOCKS"], "block": ["32 * WARPS"], "when": "E <= 32",
     "args": ["logits", "weights", "ids", {"i32": "T"}, {"i32": "E"}]},
    {"kernel": "choose<2>", "grid": ["BLOCKS"], "block": ["32 * WARPS"], "when": "32 < E <= 64",
     "args": ["logits", "weights", "ids", {"i32": "T"}, {"i32": "E"}]},
    {"kernel": "choose<4>", "grid": ["BLOCKS"], "block": ["32 * WARPS"], "when": "64 < E <= 128",
     "args": ["logits", "weights", "ids", {"i32": "T"}, {"i32": "E"}]},
    {"kernel": "choose<8>", "grid": ["BLOCKS"], "block": ["32 * WARPS"], "when": "128 < E <= 256",
     "args": ["logits", "weights", "ids", {"i32": "T"}, {"i32": "E"}]},
    {"kernel": "choose<32>", "grid": ["BLOCKS"], "block": ["32 * WARPS"], "when": "256 < E",
     "args": ["logits", "weights", "ids", {"i32": "T"}, {"i32": "E"}]},
    {"kernel": "count", "grid": ["CHUNKS"], "block": [256], "shared_bytes": "4 * E",
     "args": ["ids", "counts", {"i32": "T * K"}, {"i32": "E"}]},
    {"kernel": "sort", "grid": ["CHUNKS"], "block": [256], "shared_bytes": "36 * E",
     "args": ["ids", "counts", "offsets", "order", "places", {"i32": "T * K"}, {"i32": "E"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A warp takes a token: its logits lie in registers as ranks, of which the largest is taken K times; the softmax is over the
// same registers. As many of a warp's TOKENS tokens as fit are read before the first is chosen from. Then the pairs (token,
// expert) are counted and sorted, the same way every time (ak/routing.cuh).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/reduce.cuh>
#include <ak/routing.cuh>
#include <ak/select.cuh>
#include <ak/threads.cuh>

#ifndef ALPHAKERNEL
constexpr int WARPS = 4;
constexpr int TOKENS = 1;
constexpr int K = 8;
constexpr bool RENORMALIZE = false;
using scalar_t = float;
#endif

static_assert(ak::kRoutingWords == 9, "words of shared memory for an expert, in the plan");

// The token's K experts and their weights, from the ranks of its logits: expert 32 * i + lane in place i of a lane.
template <int ITEMS>
__device__ __forceinline__ void choose_token(const ak::u64 (&ranks)[ITEMS], float* weights, int* ids) {
  const int lane = ak::lane_index();
  ak::u64 rank = ~0ull, own = 0;
  float maximum = 0.0f;
  for (int j = 0; j < K; ++j) {
    rank = ak::largest_below(rank, ranks);
    if (j == 0) maximum = ak::number_of(rank);
    if (j == lane) own = rank;
  }
  const float exponential = lane < K ? ak::fast_exp(ak::number_of(own) - maximum) : 0.0f;
  float sum = exponential;
  if constexpr (!RENORMALIZE) {
    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) sum += ranks[i] != 0 ? ak::fast_exp(ak::number_of(ranks[i]) - maximum) : 0.0f;
  }
  sum = ak::reduce_lanes(sum, ak::Sum());
  if (lane >= K) return;
  weights[lane] = exponential / sum;
  ids[lane] = ak::place_of(own);
}

template <int ITEMS>
__global__ void __launch_bounds__(32 * WARPS)
    choose(const scalar_t* __restrict__ logits, float* __restrict__ weights, int* __restrict__ ids, int tokens, int experts) {
  constexpr int kHeld = ITEMS * TOKENS <= 16 ? TOKENS : ITEMS < 16 ? 16 / ITEMS : 1;  // tokens in registers at a time
  const long long first = (static_cast<long long>(blockIdx.x) * WARPS + ak::warp_index()) * TOKENS;
  for (long long token = first; token < first + TOKENS && token < tokens; token += kHeld) {
    ak::u64 ranks[kHeld][ITEMS];
#pragma unroll
    for (int t = 0; t < kHeld; ++t) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
        const int e = i * 32 + ak::lane_index();
        const bool exists = token + t < tokens && e < experts;
        ranks[t][i] = exists ? ak::rank_of(static_cast<float>(logits[(token + t) * experts + e]), e) : 0;
      }
    }
#pragma unroll
    for (int t = 0; t < kHeld; ++t) {
      if (token + t < tokens) choose_token(ranks[t], weights + (token + t) * K, ids + (token + t) * K);
    }
  }
}

__global__ void __launch_bounds__(ak::kRoutedPairs)
    count(const int* __restrict__ ids, int* __restrict__ counts, int pairs, int experts) {
  extern __shared__ int memory[];
  ak::count_pairs(ids, pairs, experts, counts, memory);
}

__global__ void __launch_bounds__(ak::kRoutedPairs)
    sort(const int* __restrict__ ids, const int* __restrict__ counts, int* __restrict__ offsets, int* __restrict__ order,
         int* __restrict__ places, int pairs, int experts) {
  extern __shared__ int memory[];
  ak::sort_pairs(ids, pairs, experts, counts, offsets, order, places, memory);
}
