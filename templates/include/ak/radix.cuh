// SPDX-License-Identifier: Apache-2.0
// Sorting by digits of 8 bits, stable: one launch counts all digits, one a digit moves keys.
//
// A launch that moves reads keys once and writes them once. A block takes a tile: THREADS * ITEMS neighbouring keys, a
// warp 32 * ITEMS of them, in order of items, then lanes. What other tiles have of each digit follows from a look-back:
// a tile makes its counts known at once, and adds up those of the tiles before it until one knows all before itself.
// Then the tile is sorted in shared memory, so that keys of a digit leave as a run.
//
//   counts  PASSES x 256 words, zero before; then where each digit's keys begin     (of all launches)
//   known   tiles x 256 words, zero before                                          (of one)
//   ticket  one word, zero before                                                   (of one)
#pragma once

#include <ak/handover.cuh>
#include <ak/threads.cuh>

namespace ak {

[[maybe_unused]] constexpr int kDigits = 256;

/// Digit `pass` of bits, the lowest first.
__device__ __forceinline__ u32 digit_of(u32 bits, int pass) { return bits >> (8 * pass) & (kDigits - 1); }

/// The sum over this lane and those before it.
__device__ __forceinline__ u32 sum_up_to_lane(u32 value) {
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const u32 other = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane_index() >= offset) value += other;
  }
  return value;
}

/// In thread d < 256 the sum of the values of threads before it. All threads of the block, 256 at least, take part.
__device__ __forceinline__ u32 sum_before_digit(u32 value) {
  __shared__ u32 of_warps[kDigits / 32];
  const int warp = warp_index();
  const u32 up_to = sum_up_to_lane(value);
  if (warp < kDigits / 32 && lane_index() == 31) of_warps[warp] = up_to;
  __syncthreads();
  u32 before = up_to - value;
  for (int other = 0; other < warp && other < kDigits / 32; ++other) before += of_warps[other];
  __syncthreads();
  return before;
}

/// Counts all PASSES digits of n keys; the last block makes beginnings of them. bits(key): what keys are sorted by. Blocks
/// of THREADS threads, as many as wanted. A thread adds when a digit changes: equal keys do not queue.
template <int THREADS, int PASSES, class Bits>
__device__ __forceinline__ void count_digits(const u32* keys, int n, u32* counts, unsigned int* arrived, Bits bits) {
  constexpr int kCopies = 4, kItems = 8;  // of a count, for neighbouring lanes; of a thread under way
  __shared__ u32 own[PASSES][kDigits][kCopies];
  for (int i = static_cast<int>(threadIdx.x); i < PASSES * kDigits * kCopies; i += THREADS) (&own[0][0][0])[i] = 0;
  __syncthreads();
  const int copy = lane_index() % kCopies;
  u32 last[PASSES] = {}, run[PASSES] = {};
  const long long step = static_cast<long long>(gridDim.x) * THREADS;
  for (long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x; at < n; at += kItems * step) {
    u32 read[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) read[k] = at + k * step < n ? keys[at + k * step] : 0;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      if (at + k * step >= n) continue;
#pragma unroll
      for (int pass = 0; pass < PASSES; ++pass) {
        const u32 digit = digit_of(bits(read[k]), pass);
        if (digit != last[pass]) {
          if (run[pass] != 0) atomicAdd(&own[pass][last[pass]][copy], run[pass]);
          last[pass] = digit;
          run[pass] = 0;
        }
        ++run[pass];
      }
    }
  }
#pragma unroll
  for (int pass = 0; pass < PASSES; ++pass) {
    if (run[pass] != 0) atomicAdd(&own[pass][last[pass]][copy], run[pass]);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < PASSES * kDigits; i += THREADS) {
    const u32(&copies)[kCopies] = own[i / kDigits][i % kDigits];
    const u32 sum = copies[0] + copies[1] + copies[2] + copies[3];
    if (sum != 0) atomicAdd(counts + i, sum);
  }
  __syncthreads();
  if (!is_last_block(arrived)) return;
  for (int pass = 0; pass < PASSES; ++pass) {
    const int d = static_cast<int>(threadIdx.x);
    const u32 before = sum_before_digit(d < kDigits ? __ldcg(counts + pass * kDigits + d) : 0);
    if (d < kDigits) counts[pass * kDigits + d] = before;
  }
}

/// The lanes of the warp whose digit is this lane's.
__device__ __forceinline__ u32 lanes_with(u32 digit) {
  u32 same = 0xffffffffu;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    const bool set = (digit >> bit & 1) != 0;
    const u32 with = __ballot_sync(0xffffffffu, set);
    same &= set ? with : ~with;
  }
  return same;
}

// Counts of a digit that other tiles wait for: the lower 30 bits, and above them whether they are of all tiles before, too.
[[maybe_unused]] constexpr u32 kOfTile = 1u << 30, kOfAll = 2u << 30;
__device__ __forceinline__ void make_known(u32* word, u32 value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ __forceinline__ u32 wait_known(const u32* word) {
  u32 value;
  do {
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  } while (value == 0);
  return value;
}
// Keys with digit d in the tiles before `tile`, which has `own` of them.
__device__ __forceinline__ u32 look_back_digit(u32* known, int tile, int d, u32 own) {
  u32 before = 0;
  for (int other = tile - 1; other >= 0; --other) {
    const u32 word = wait_known(known + static_cast<long long>(other) * kDigits + d);
    before += word & (kOfTile - 1);
    if (word >= kOfAll) break;
  }
  make_known(known + static_cast<long long>(tile) * kDigits + d, kOfAll | (before + own));
  return before;
}

/// Moves a tile of keys, and of values, which go with them, to their places by digit `pass`; blocks for all tiles, at least
/// 256 threads each. Without values_in the values are the keys' places; without values_out there are none. n < 2^30.
template <int THREADS, int ITEMS, class Bits>
__device__ __forceinline__ void move_by_digit(const u32* keys_in, const u32* values_in, u32* keys_out, u32* values_out,
                                              int n, int pass, const u32* counts, u32* known, unsigned int* ticket,
                                              Bits bits) {
  constexpr int kTile = THREADS * ITEMS, kWarps = THREADS / 32;
  static_assert(THREADS >= kDigits, "a thread for every digit");
  __shared__ union {
    u32 of_warps[kWarps][kDigits];  // keys of a digit in a warp, then in the warps before it
    u32 sorted[kTile];
  } memory;
  __shared__ u32 begins[kDigits], shift[kDigits];  // of digits: where in the tile; from there to its place among all
  __shared__ unsigned int number;
  if (threadIdx.x == 0) number = atomicAdd(ticket, 1u);
  for (int i = static_cast<int>(threadIdx.x); i < kWarps * kDigits; i += THREADS) (&memory.of_warps[0][0])[i] = 0;
  __syncthreads();
  const int tile = static_cast<int>(number), lane = lane_index(), warp = warp_index(), d = static_cast<int>(threadIdx.x);
  const long long first = static_cast<long long>(tile) * kTile;
  const int left = static_cast<int>(n - first < kTile ? n - first : kTile);
  u32 keys[ITEMS], places[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int at = (warp * ITEMS + i) * 32 + lane;
    keys[i] = at < left ? __ldcs(keys_in + first + at) : 0;
  }
  const auto digit = [&](int i) {  // what is past the end is last
    return (warp * ITEMS + i) * 32 + lane < left ? digit_of(bits(keys[i]), pass) : kDigits - 1u;
  };
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {  // places[i]: among the warp's keys of this digit
    const u32 same = lanes_with(digit(i));
    u32* count = &memory.of_warps[warp][digit(i)];
    const int leader = __ffs(same) - 1;
    u32 before = 0;
    if (lane == leader) {
      before = *count;
      *count = before + __popc(same);
    }
    places[i] = __shfl_sync(0xffffffffu, before, leader) + __popc(same & ((1u << lane) - 1));
    __syncwarp();
  }
  __syncthreads();
  u32 own = 0;
  if (d < kDigits) {
    for (int w = 0; w < kWarps; ++w) {
      const u32 count = memory.of_warps[w][d];
      memory.of_warps[w][d] = own;
      own += count;
    }
    make_known(known + static_cast<long long>(tile) * kDigits + d, kOfTile | own);
  }
  const u32 begin = sum_before_digit(d < kDigits ? own : 0);
  if (d < kDigits) begins[d] = begin;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) places[i] += begins[digit(i)] + memory.of_warps[warp][digit(i)];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) memory.sorted[places[i]] = keys[i];
  u32 values[ITEMS];  // on their way while others' counts are waited for
  if (values_out != nullptr) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const int at = (warp * ITEMS + i) * 32 + lane;
      if (at < left) values[i] = values_in == nullptr ? static_cast<u32>(first + at) : __ldcs(values_in + first + at);
    }
  }
  if (d < kDigits) shift[d] = counts[pass * kDigits + d] + look_back_digit(known, tile, d, own) - begin;
  __syncthreads();
  u32 to[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int at = i * THREADS + static_cast<int>(threadIdx.x);
    if (at >= left) continue;
    const u32 key = memory.sorted[at];
    to[i] = shift[digit_of(bits(key), pass)] + at;
    keys_out[to[i]] = key;
  }
  if (values_out == nullptr) return;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    if ((warp * ITEMS + i) * 32 + lane < left) memory.sorted[places[i]] = values[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int at = i * THREADS + static_cast<int>(threadIdx.x);
    if (at < left) values_out[to[i]] = memory.sorted[at];
  }
}

}  // namespace ak
