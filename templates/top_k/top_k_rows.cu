/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [256, 512, 1024], "default": 512},
    "ITEMS": {"values": [1, 2, 4, 8], "default": 4},
    "PARTS": {"values": [1, 4, 8, 16], "default": 8},
    "LANE_ITEMS": {"values": [4, 8, 16, 32], "default": 16},
    "WARP_K": {"values": [8, 32], "default": 8},
    "WARPS": {"values": [4, 8], "default": 4}
  },
  "let": {
    "VEC": "4 if dtype == 'float32' else 8",
    "SPLIT": "max(1, min(PARTS, 4096 // K, N // (THREADS * VEC * ITEMS))) if 2 * M < SM_COUNT else 1",
    "SHORT": "N <= 32 * LANE_ITEMS and K <= WARP_K"
  },
  "workspace": [
    {"name": "parts", "dtype": "int64", "count": "M * SPLIT * K if SPLIT > 1 else 0"},
    {"name": "arrived", "dtype": "int32", "count": "M if SPLIT > 1 else 0", "init": "zero"}
  ],
  "launches": [
    {"kernel": "top_k_short", "grid": ["ceil_div(M, WARPS)"], "block": ["32 * WARPS"],
     "args": ["x", "values", "indices", {"i32": "M"}, {"i32": "N"}], "when": "SHORT"},
    {"kernel": "top_k_rows", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "values", "indices", {"i32": "N"}], "when": "not SHORT and SPLIT == 1"},
    {"kernel": "top_k_parts", "grid": ["SPLIT", "M"], "block": ["THREADS"],
     "args": ["x", "values", "indices", "parts", "arrived", {"i32": "N"}], "when": "not SHORT and SPLIT > 1"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The K largest elements of each row, in order, of equal ones the first. A warp keeps a short row in registers and takes
// the largest K times. For others a block takes the largest of every thread or of groups of lanes, sorts these, and has in
// the K-th a bound: only the K groups above it have elements above it. Those, about K, are collected and sorted. A row of
// up to THREADS * ITEMS packs is held in registers for that; a longer one is read again, from L2 while all rows under way fit
// it. Where the bound lets too many through, as where all large elements belong to few threads, it is bisected: slow, but
// right.
// Few long rows are split over blocks, and the block of a row that arrives last selects among what all of them selected.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/handover.cuh>
#include <ak/reduce.cuh>
#include <ak/unaligned_rows.cuh>
#include <ak/select.cuh>
#include <ak/threads.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 512;
constexpr int ITEMS = 4;
constexpr int LANE_ITEMS = 16;
constexpr int WARPS = 4;
constexpr int K = 8;
using scalar_t = float;
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));
constexpr int CAPACITY = 4096;  // ranks in shared memory: 32 KiB

using ak::u64;
using Pack = ak::Pack<scalar_t, VEC>;
using Row = ak::UnalignedRow<scalar_t, VEC>;

// A row's part that this block selects from, a thread's share of it in registers where that is not too long.
struct Part {
  const scalar_t* x;
  Row row;
  int first, stride;
  bool held;
  Pack packs[ITEMS];

  __device__ __forceinline__ Part(const scalar_t* data, int n, int part, int parts)
      : x(data), row(data, n), first(part * THREADS + static_cast<int>(threadIdx.x)), stride(parts * THREADS) {
    held = row.packs <= stride * ITEMS;
    if (held) read(first);
  }
  __device__ __forceinline__ void read(int tile) {
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (tile + k * stride < row.packs) packs[k] = ak::load<VEC>(x + row.pack(tile + k * stride));
    }
  }
  // Calls f with the rank of each of this thread's elements.
  template <class F>
  __device__ __forceinline__ void each(F f) {
    for (int tile = first; tile < row.packs; tile += stride * ITEMS) {
      if (!held) read(tile);
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        const int column = row.pack(tile + k * stride);
        if (tile + k * stride >= row.packs) continue;
#pragma unroll
        for (int i = 0; i < VEC; ++i) f(ak::rank_of(static_cast<float>(packs[k].value[i]), column + i));
      }
    }
    for (int i = first; i < row.singles; i += stride) f(ak::rank_of(static_cast<float>(x[row.single(i)]), row.single(i)));
  }
};

// A rank that at least K of the part's are at or above, few of them more; 0 where the part has too few.
__device__ __forceinline__ u64 lower_bound(Part& part, u64* ranks) {
  u64 largest = 0;
  part.each([&](u64 rank) { largest = rank > largest ? rank : largest; });
  // Four times as many groups as are wanted: of fewer, the groups above the bound have more that is below the K-th.
  const int groups = max(THREADS / 32, min(THREADS, ak::power_of_two_from(4 * K)));
  const int lanes = THREADS / groups;
  for (int offset = lanes / 2; offset > 0; offset /= 2) largest = ak::LargerRank()(largest, ak::shuffle_xor(largest, offset));
  if (threadIdx.x % lanes == 0) ranks[threadIdx.x / lanes] = largest;
  ak::sort_ranks<THREADS>(ranks, groups);
  const u64 bound = ranks[K - 1];
  __syncthreads();  // `ranks` is free again
  return bound;
}

// Collects the ranks from `bound` on; how many there are, of which CAPACITY are kept.
__device__ __forceinline__ int collect(Part& part, u64 bound, u64* ranks) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  part.each([&](u64 rank) {
    if (rank < bound) return;
    const int at = atomicAdd(&found, 1);
    if (at < CAPACITY) ranks[at] = rank;
  });
  __syncthreads();
  const int count = found;
  __syncthreads();
  return count;
}

// The first K of `ranks`, of which `count` are filled, become the largest in order; zeros where there are fewer.
__device__ __forceinline__ void sort_filled(u64* ranks, int count) {
  const int sorted = ak::power_of_two_from(max(count, K));
  for (int i = count + static_cast<int>(threadIdx.x); i < sorted; i += THREADS) ranks[i] = 0;
  ak::sort_ranks<THREADS>(ranks, sorted);
}

// The K largest of a part, in order, in `ranks`.
__device__ __forceinline__ void select(Part& part, u64* ranks) {
  u64 bound = lower_bound(part, ranks), low = bound, high = ~0ull;
  int count = collect(part, bound, ranks);
  while (count > CAPACITY || (count < K && bound > low)) {
    (count > CAPACITY ? low : high) = bound;
    bound = low + (high - low) / 2;
    count = collect(part, bound, ranks);
  }
  sort_filled(ranks, count);
}

__device__ __forceinline__ void write(const u64* ranks, scalar_t* values, long long* indices) {
  for (int i = static_cast<int>(threadIdx.x); i < K; i += THREADS) {
    values[i] = static_cast<scalar_t>(ak::number_of(ranks[i]));
    indices[i] = ak::place_of(ranks[i]);
  }
}

// Block r: row r of n elements.
__global__ void __launch_bounds__(THREADS)
    top_k_rows(const scalar_t* __restrict__ x, scalar_t* __restrict__ values, long long* __restrict__ indices, int n) {
  __shared__ u64 ranks[CAPACITY];
  const long long r = blockIdx.x;
  Part part(x + r * n, n, 0, 1);
  select(part, ranks);
  write(ranks, values + r * K, indices + r * K);
}

// Block (part, r). parts: room for K ranks a part, at most CAPACITY a row; arrived: zero at the start.
__global__ void __launch_bounds__(THREADS)
    top_k_parts(const scalar_t* __restrict__ x, scalar_t* __restrict__ values, long long* __restrict__ indices, u64* parts,
                unsigned int* arrived, int n) {
  __shared__ u64 ranks[CAPACITY];
  const long long r = blockIdx.y;
  const int split = static_cast<int>(gridDim.x);
  Part part(x + r * n, n, static_cast<int>(blockIdx.x), split);
  select(part, ranks);
  u64* all = parts + r * split * K;
  for (int i = static_cast<int>(threadIdx.x); i < K; i += THREADS) all[blockIdx.x * K + i] = ranks[i];
  __syncthreads();
  if (!ak::is_last_block(arrived + r)) return;
  for (int i = static_cast<int>(threadIdx.x); i < split * K; i += THREADS) ranks[i] = __ldcg(all + i);
  sort_filled(ranks, split * K);
  write(ranks, values + r * K, indices + r * K);
}

// A warp a row of up to 32 * LANE_ITEMS elements; m rows.
__global__ void __launch_bounds__(32 * WARPS)
    top_k_short(const scalar_t* __restrict__ x, scalar_t* __restrict__ values, long long* __restrict__ indices, int m, int n) {
  const int lane = ak::lane_index();
  const long long r = static_cast<long long>(blockIdx.x) * WARPS + ak::warp_index();
  if (r >= m) return;
  u64 ranks[LANE_ITEMS];
#pragma unroll
  for (int i = 0; i < LANE_ITEMS; ++i) {
    const int column = i * 32 + lane;
    ranks[i] = column < n ? ak::rank_of(static_cast<float>(x[r * n + column]), column) : 0;
  }
  u64 rank = ~0ull, own = 0;
  for (int i = 0; i < K; ++i) {
    rank = ak::largest_below(rank, ranks);
    if (i % 32 == lane) own = rank;
    if (i + 1 < K && i % 32 != 31) continue;
    const int at = i / 32 * 32 + lane;
    if (at < K) {
      values[r * K + at] = static_cast<scalar_t>(ak::number_of(own));
      indices[r * K + at] = ak::place_of(own);
    }
  }
}
