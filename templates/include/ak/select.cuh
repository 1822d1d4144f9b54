// SPDX-License-Identifier: Apache-2.0
// Elements in an order without equals, and the largest of them: sorting in shared memory, selection by a warp.
//
// A rank is an element's number as 32 bits in the order of numbers, above the complement of its place: of equal numbers
// the first is the largest, and NaN is above all. No two elements have the same rank, so that what is selected depends on
// no order of threads. 0 is the rank of nothing, and ~0 is above all ranks.
#pragma once

#include <ak/reduce.cuh>
#include <ak/threads.cuh>

namespace ak {

/// The bits of a number such that their order is that of numbers: -0 is 0, and every NaN is the same, the largest.
__device__ __forceinline__ u32 ordered_bits(float x) {
  const u32 bits = __float_as_uint(x + 0.0f);
  if (x != x) return 0xffc00000u;
  return bits ^ (static_cast<u32>(static_cast<int>(bits) >> 31) | 0x80000000u);
}
/// The number again.
__device__ __forceinline__ float number_of(u32 ordered) {
  return __uint_as_float(ordered ^ (ordered >> 31 != 0 ? 0x80000000u : 0xffffffffu));
}

/// The rank of an element, and its number and place again.
__device__ __forceinline__ u64 rank_of(float x, int place) {
  return static_cast<u64>(ordered_bits(x)) << 32 | ~static_cast<u32>(place);
}
__device__ __forceinline__ float number_of(u64 rank) { return number_of(static_cast<u32>(rank >> 32)); }
__device__ __forceinline__ int place_of(u64 rank) { return static_cast<int>(~static_cast<u32>(rank)); }

/// Operation of reductions: the larger rank.
struct LargerRank {
  __device__ __forceinline__ u64 operator()(u64 a, u64 b) const { return a > b ? a : b; }
};

/// The largest rank below `bound` among COUNT of each lane of a warp, the same in all lanes; 0 where there is none. Called
/// again with what it gave, it goes through them in order.
template <int COUNT>
__device__ __forceinline__ u64 largest_below(u64 bound, const u64 (&ranks)[COUNT]) {
  u64 largest = 0;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    if (ranks[i] < bound && ranks[i] > largest) largest = ranks[i];
  }
  return reduce_lanes(largest, LargerRank());
}

/// Sorts `count` ranks in shared memory, the largest first; count is a power of two, and all THREADS threads of the block
/// take part. Barriers before and after are included. Neighbours within 64 stay with one warp, so that the block
/// waits before and after steps beyond alone: after 1 of the 21 steps of 64 ranks, 6 of the 36 of 256, 21 of the 66 of 2048
/// (bitonic sort).
template <int THREADS>
__device__ __forceinline__ void sort_ranks(u64* ranks, int count) {
  __syncthreads();
  for (int size = 2; size <= count; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      for (int i = static_cast<int>(threadIdx.x); i < count / 2; i += THREADS) {
        const int low = i / step * step * 2 + i % step, high = low + step;
        const u64 a = ranks[low], b = ranks[high];
        if ((a < b) == ((low & size) == 0)) {
          ranks[low] = b;
          ranks[high] = a;
        }
      }
      const int next = step > 1 ? step / 2 : size;  // step of what follows
      if (step > 32 || next > 32) {
        __syncthreads();
      } else {
        __syncwarp();
      }
    }
  }
  __syncthreads();
}

/// The least power of two from `count` on.
__device__ __forceinline__ int power_of_two_from(int count) { return count < 2 ? 1 : 1 << (32 - __clz(count - 1)); }

}  // namespace ak
