// SPDX-License-Identifier: Apache-2.0
// Pairs (token, expert) sorted by expert in two launches, the same way every time, and their results added up.
//
// Pair i is chosen expert i % k of token i / k. Blocks of 256 threads take 256 pairs each. The first launch counts how
// many pairs of each expert a block has; in the second every block adds up the counts of those before it, by which it
// knows where its own pairs go: blocks x experts words read from L2 by each of them. Equal experts keep their order.
#pragma once

#include <ak/threads.cuh>
#include <ak/vectors.cuh>

namespace ak {

[[maybe_unused]] constexpr int kRoutedPairs = 256;  // of a block: 8 warps
// Words of shared memory for an expert, in sort_pairs; else 1.
[[maybe_unused]] constexpr int kRoutingWords = kRoutedPairs / 32 + 1;

// counts[block][e]: pairs of expert e among those of this block. `found`: shared memory.
__device__ __forceinline__ void count_pairs(const int* ids, int pairs, int experts, int* counts, int* found) {
  for (int e = threadIdx.x; e < experts; e += kRoutedPairs) found[e] = 0;
  __syncthreads();
  const int pair = static_cast<int>(blockIdx.x) * kRoutedPairs + static_cast<int>(threadIdx.x);
  if (pair < pairs) atomicAdd(&found[ids[pair]], 1);
  __syncthreads();
  for (int e = threadIdx.x; e < experts; e += kRoutedPairs) {
    counts[static_cast<long long>(blockIdx.x) * experts + e] = found[e];
  }
}

// offsets[e]: the first place of expert e, offsets[experts] the number of pairs. order[place]: the pair that is there.
// places[pair]: where it is. `memory`: shared memory.
__device__ __forceinline__ void sort_pairs(const int* ids, int pairs, int experts, const int* counts, int* offsets,
                                           int* order, int* places, int* memory) {
  int* base = memory;  // of every expert: where this block's pairs begin
  int* in_warps = memory + experts;
  const int lane = lane_index(), warp = warp_index();
  for (int e = threadIdx.x; e < experts; e += kRoutedPairs) {
    int total = 0, before = 0;
    for (unsigned int block = 0; block < gridDim.x; ++block) {
      const int count = counts[static_cast<long long>(block) * experts + e];
      total += count;
      before += block < blockIdx.x ? count : 0;
    }
    base[e] = before;
    in_warps[e] = total;  // until the places of experts are known
  }
  __syncthreads();
  if (warp == 0) {
    int first = 0;
    for (int group = 0; group < experts; group += 32) {
      const int e = group + lane, own = e < experts ? in_warps[e] : 0;
      int sum = own;
#pragma unroll
      for (int offset = 1; offset < 32; offset *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, sum, offset);
        if (lane >= offset) sum += other;
      }
      if (e < experts) {
        base[e] += first + sum - own;
        if (blockIdx.x == 0) offsets[e] = first + sum - own;
      }
      first += __shfl_sync(0xffffffffu, sum, 31);
    }
    if (blockIdx.x == 0 && lane == 0) offsets[experts] = first;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < experts * (kRoutedPairs / 32); i += kRoutedPairs) in_warps[i] = 0;
  __syncthreads();
  const int pair = static_cast<int>(blockIdx.x) * kRoutedPairs + static_cast<int>(threadIdx.x);
  const int expert = pair < pairs ? ids[pair] : -1;
  const unsigned int same = __match_any_sync(0xffffffffu, expert);
  const int rank = __popc(same & ((1u << lane) - 1));
  if (expert >= 0 && rank == 0) in_warps[warp * experts + expert] = __popc(same);
  __syncthreads();
  if (expert < 0) return;
  int place = base[expert] + rank;
  for (int other = 0; other < warp; ++other) place += in_warps[other * experts + expert];
  order[place] = pair;
  places[pair] = place;
}

// out[t] = sum over the k pairs of token t, in order, of weights[pair] * y[places[pair]], in fp32: 8 neighbouring of
// `width` columns a thread. Columns are a multiple of 8.
template <class T>
__device__ __forceinline__ void combine_pairs(const T* y, const int* places, const float* weights, T* out, int tokens,
                                              int k, int width) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long token = index / (width / 8), column = index % (width / 8) * 8;
  if (token >= tokens) return;
  float sums[8] = {};
  for (int i = 0; i < k; ++i) {
    const long long pair = token * k + i;
    const float weight = weights[pair];
    const Pack<T, 8> values = load<8>(y + static_cast<long long>(places[pair]) * width + column);
#pragma unroll
    for (int e = 0; e < 8; ++e) sums[e] += weight * static_cast<float>(values.value[e]);
  }
  Pack<T, 8> result;
#pragma unroll
  for (int e = 0; e < 8; ++e) result.value[e] = static_cast<T>(sums[e]);
  store(out + token * width + column, result);
}

}  // namespace ak
