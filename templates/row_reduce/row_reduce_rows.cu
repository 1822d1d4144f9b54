/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [8, 16, 32, 64, 128, 256, 512], "default": 128},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8, 16, 32], "default": 2},
    "ITEMS": {"values": [1, 2, 4, 8], "default": 4},
    "PARTS": {"values": [1, 4, 16, 64], "default": 16}
  },
  "constraints": ["128 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 512"],
  "let": {
    "SPLIT": "min(PARTS, ceil_div(N, 512 * ITEMS)) if M < SM_COUNT else 1",
    "THREADS": "THREADS_PER_ROW * ROWS_PER_BLOCK",
    "PACKS": "ceil_div(N * sizeof_x, 16)",
    "SHORT": "N * sizeof_x % 16 == 0 and PACKS <= 32"
  },
  "workspace": [
    {"name": "parts", "dtype": "float32", "count": "4 * M * SPLIT if SPLIT > 1 else 0"},
    {"name": "arrived", "dtype": "int32", "count": "M if SPLIT > 1 else 0", "init": "zero"}
  ],
  "launches": [
    {"kernel": "reduce_rows", "grid": ["ceil_div(M, ROWS_PER_BLOCK)"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "y", {"i32": "M"}, {"i32": "N"}], "when": "SPLIT == 1 and not SHORT"},
    {"kernel": "reduce_short<8>", "grid": ["ceil_div(M, THREADS)"], "block": ["THREADS"],
     "args": ["x", "y", {"i32": "M"}, {"i32": "N"}], "when": "SHORT and PACKS <= 8"},
    {"kernel": "reduce_short<16>", "grid": ["ceil_div(M, THREADS // 2)"], "block": ["THREADS"],
     "args": ["x", "y", {"i32": "M"}, {"i32": "N"}], "when": "SHORT and 8 < PACKS <= 16"},
    {"kernel": "reduce_short<32>", "grid": ["ceil_div(M, THREADS // 4)"], "block": ["THREADS"],
     "args": ["x", "y", {"i32": "M"}, {"i32": "N"}], "when": "SHORT and 16 < PACKS"},
    {"kernel": "reduce_parts", "grid": ["SPLIT", "M"], "block": [512],
     "args": ["x", "y", "parts", "arrived", {"i32": "N"}], "when": "SPLIT > 1 and not SHORT"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Each row of x reduced to one number. THREADS_PER_ROW threads take packs of 16 bytes in turn, ITEMS under way at once; what
// they found meets over lanes and warps. Fewer rows than SMs are split over blocks: the block of a row that arrives last
// joins what all of them left, in the order of parts, so that results are the same every time. A row of up to 32 aligned
// packs takes one pack of each of 8 to 32 lanes, 8 rows at once; lanes exchange halves of what they have found, so that in
// the end each has another row's result and neighbours write neighbours.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/handover.cuh>
#include <ak/reduce.cuh>
#include <ak/unaligned_rows.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
#define AK_OP_VAR 1
constexpr int THREADS_PER_ROW = 128;
constexpr int ROWS_PER_BLOCK = 2;
constexpr int ITEMS = 4;
using scalar_t = float;
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));
constexpr int PART_THREADS = 512;
using Pack = ak::Pack<scalar_t, VEC>;
using Row = ak::UnalignedRow<scalar_t, VEC>;

// What is known of some elements: `none`, of one, of a pack with others, of both of two, and the row's result. Elements
// are taken less an `origin`, which is zero but for the variance.
#if defined(AK_OP_SUM) || defined(AK_OP_MEAN)
using result_t = scalar_t;
struct Found {
  float sum;
};
__device__ __forceinline__ Found none() { return {0.0f}; }
__device__ __forceinline__ Found of(float x, int) { return {x}; }
__device__ __forceinline__ Found both(Found a, Found b) { return {a.sum + b.sum}; }
__device__ __forceinline__ Found with(Found found, const Pack& pack, int, float) { return {found.sum + ak::sum_of(pack)}; }
__device__ __forceinline__ result_t result(Found found, int n) {
#ifdef AK_OP_MEAN
  return static_cast<result_t>(found.sum / static_cast<float>(n));
#else
  return static_cast<result_t>(found.sum);
#endif
}
__device__ __forceinline__ Found exchanged(Found found, int offset) { return {ak::shuffle_xor(found.sum, offset)}; }

#elif defined(AK_OP_VAR)
// How many, their mean, and the sum of squared distances from it (Chan et al.). Errors of means count in full, so that
// rows far from zero are taken less their first element.
using result_t = scalar_t;
struct Found {
  float count, mean, squares;
};
__device__ __forceinline__ Found none() { return {0.0f, 0.0f, 0.0f}; }
// Zero, but infinity is no distance from itself.
__device__ __forceinline__ Found of(float x, int) { return {1.0f, x, x - x}; }
__device__ __forceinline__ Found both(Found a, Found b) {
  const float count = a.count + b.count, distance = b.mean - a.mean;
  const float share = count > 0.0f ? b.count / count : 0.0f;
  return {count, a.mean + distance * share, a.squares + b.squares + distance * distance * a.count * share};
}
__device__ __forceinline__ Found with(Found found, const Pack& pack, int, float origin) {
  float x[VEC], sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (int i = 0; i < VEC; ++i) {
    x[i] = static_cast<float>(pack.value[i]) - origin;
    sum += x[i];
  }
  const float mean = sum * (1.0f / VEC);
#pragma unroll
  for (int i = 0; i < VEC; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return both(found, {static_cast<float>(VEC), mean, squares});
}
__device__ __forceinline__ result_t result(Found found, int n) {
  return static_cast<result_t>(found.squares / static_cast<float>(n - 1));
}
__device__ __forceinline__ Found exchanged(Found found, int offset) {
  return {ak::shuffle_xor(found.count, offset), ak::shuffle_xor(found.mean, offset), ak::shuffle_xor(found.squares, offset)};
}

#elif defined(AK_OP_MAX) || defined(AK_OP_MIN)
// The minimum is the maximum of negated numbers. A NaN stays.
#ifdef AK_OP_MIN
constexpr float SIGN = -1.0f;
#else
constexpr float SIGN = 1.0f;
#endif
using result_t = scalar_t;
struct Found {
  float largest;
};
__device__ __forceinline__ Found none() { return {ak::minus_infinity()}; }
__device__ __forceinline__ Found of(float x, int) { return {SIGN * x}; }
__device__ __forceinline__ Found both(Found a, Found b) {
  return b.largest > a.largest || b.largest != b.largest ? b : a;
}
__device__ __forceinline__ Found with(Found found, const Pack& pack, int, float) {
#pragma unroll
  for (int i = 0; i < VEC; ++i) found = both(found, of(static_cast<float>(pack.value[i]), 0));
  return found;
}
__device__ __forceinline__ result_t result(Found found, int) { return static_cast<result_t>(SIGN * found.largest); }
__device__ __forceinline__ Found exchanged(Found found, int offset) { return {ak::shuffle_xor(found.largest, offset)}; }

#else
// The place of the maximum, or of that of negated numbers: the first of equals, and of NaN, which is above all numbers.
#ifdef AK_OP_ARGMIN
constexpr float SIGN = -1.0f;
#else
constexpr float SIGN = 1.0f;
#endif
constexpr int NOWHERE = 0x7fffffff;
using result_t = long long;
struct Found {
  float largest;
  int place;
};
__device__ __forceinline__ Found none() { return {ak::minus_infinity(), NOWHERE}; }
__device__ __forceinline__ Found of(float x, int column) { return {SIGN * x, column}; }
__device__ __forceinline__ bool is_nan(Found found) { return found.largest != found.largest; }
__device__ __forceinline__ Found both(Found a, Found b) {
  const bool equal = a.largest == b.largest || (is_nan(a) && is_nan(b));
  const bool above = b.largest > a.largest || (is_nan(b) && !is_nan(a));
  return above || (equal && b.place < a.place) ? b : a;
}
// A thread's columns rise, so that the first of equals stays.
__device__ __forceinline__ Found with(Found found, const Pack& pack, int column, float) {
#pragma unroll
  for (int i = 0; i < VEC; ++i) {
    const Found next = of(static_cast<float>(pack.value[i]), column + i);
    if (!(next.largest <= found.largest) && !is_nan(found)) found = next;
  }
  // Minus infinity is not above what the search begins with.
  if (found.place == NOWHERE) found.place = column;
  return found;
}
__device__ __forceinline__ result_t result(Found found, int) { return found.place; }
__device__ __forceinline__ Found exchanged(Found found, int offset) {
  return {ak::shuffle_xor(found.largest, offset), ak::shuffle_xor(found.place, offset)};
}
#endif

__device__ __forceinline__ Found shuffle_xor(Found found, int offset) { return exchanged(found, offset); }
struct Both {
  __device__ __forceinline__ Found operator()(Found a, Found b) const { return both(a, b); }
};

// What one of `threads` threads finds in a row: every so many packs from `first` on.
__device__ __forceinline__ Found search(const scalar_t* x, int n, int first, int threads) {
  const Row row(x, n);
#ifdef AK_OP_VAR
  const float origin = n > 0 ? static_cast<float>(x[0]) : 0.0f;
#else
  const float origin = 0.0f;
#endif
  Found found = none();
  for (int tile = first; tile < row.packs; tile += threads * ITEMS) {
    Pack packs[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const int i = tile + k * threads;
      if (i < row.packs) packs[k] = ak::load<VEC, ak::Cache::streaming>(x + row.pack(i));
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const int i = tile + k * threads;
      if (i < row.packs) found = with(found, packs[k], row.pack(i), origin);
    }
  }
  for (int i = first; i < row.singles; i += threads) {
    found = both(found, of(static_cast<float>(x[row.single(i)]) - origin, row.single(i)));
  }
  return found;
}

// x: m rows of n.
__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    reduce_rows(const scalar_t* __restrict__ x, result_t* __restrict__ y, int m, int n) {
  const long long r = static_cast<long long>(blockIdx.x) * ROWS_PER_BLOCK + threadIdx.y;
  // A row past the end is empty, but its threads take part in the reduction.
  Found found = search(x + r * n, r < m ? n : 0, static_cast<int>(threadIdx.x), THREADS_PER_ROW);
  if constexpr (THREADS_PER_ROW < 32) {
    found = ak::reduce_lanes<THREADS_PER_ROW>(found, Both());
  } else {
    found = ak::reduce_row<THREADS_PER_ROW, ROWS_PER_BLOCK>(found, Both());
  }
  if (r < m && threadIdx.x == 0) y[r] = result(found, n);
}

// Rows of up to LANES packs, to which they are aligned: 8 at once in each group of LANES lanes.
template <int LANES>
__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    reduce_short(const scalar_t* __restrict__ x, result_t* __restrict__ y, int m, int n) {
  constexpr int kRows = 8, kGroups = 32 / LANES;
  const int lane = static_cast<int>(threadIdx.x) % 32, column = lane % LANES * VEC;
  const long long warp = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const auto row_of = [&](int i) { return (warp * kRows + i) * kGroups + lane / LANES; };
  Pack packs[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (row_of(i) < m && column < n) packs[i] = ak::load<VEC, ak::Cache::streaming>(x + row_of(i) * n + column);
  }
  Found found[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    found[i] = none();
    if (row_of(i) >= m || column >= n) continue;
#ifdef AK_OP_VAR
    const float origin = static_cast<float>(x[row_of(i) * n]);
#else
    const float origin = 0.0f;
#endif
    found[i] = with(found[i], packs[i], column, origin);
  }
  // Of two rows a lane keeps one and passes the other on.
#pragma unroll
  for (int offset = 1; offset < kRows; offset *= 2) {
    const bool odd = (lane & offset) != 0;
#pragma unroll
    for (int i = 0; i < kRows / 2 / offset; ++i) {
      const Found kept = odd ? found[2 * i + 1] : found[2 * i], passed = odd ? found[2 * i] : found[2 * i + 1];
      found[i] = both(kept, shuffle_xor(passed, offset));
    }
  }
#pragma unroll
  for (int offset = kRows; offset < LANES; offset *= 2) found[0] = both(found[0], shuffle_xor(found[0], offset));
  const long long r = row_of(lane % kRows);
  if (lane % LANES < kRows && r < m) y[r] = result(found[0], n);
}

// Block (part, r) reduces a part of row r. parts: room for four words a part; arrived: zero at the start.
__global__ void __launch_bounds__(PART_THREADS)
    reduce_parts(const scalar_t* __restrict__ x, result_t* __restrict__ y, float* parts, unsigned int* arrived, int n) {
  const int split = static_cast<int>(gridDim.x);
  const long long r = blockIdx.y;
  const int first = static_cast<int>(blockIdx.x) * PART_THREADS + static_cast<int>(threadIdx.x);
  const Found found =
      ak::reduce_row<PART_THREADS, 1, 0>(search(x + r * n, n, first, split * PART_THREADS), Both());
  float* all = parts + 4 * r * split;
  constexpr int kWords = sizeof(Found) / 4;
  if (threadIdx.x == 0) {
    const float* words = reinterpret_cast<const float*>(&found);
#pragma unroll
    for (int w = 0; w < kWords; ++w) all[4 * blockIdx.x + w] = words[w];
  }
  if (!ak::is_last_block(arrived + r) || threadIdx.x != 0) return;
  Found total = none();
  for (int part = 0; part < split; ++part) {
    float words[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = __ldcg(all + 4 * part + w);
    total = both(total, *reinterpret_cast<const Found*>(words));
  }
  y[r] = result(total, n);
}
