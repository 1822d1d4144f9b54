/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [32, 64, 128, 256, 512, 1024], "default": 512},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8], "default": 1},
    "ITEMS": {"values": [1, 2, 4, 8], "default": 4},
    "CLUSTER": {"values": [1, 2, 4, 8], "default": 1},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"THREADS_PER_ROW": 128},
    {"CLUSTER": 4, "THREADS_PER_ROW": 1024},
    {"ITEMS": 1, "THREADS_PER_ROW": 64}
  ],
  "constraints": [
    "64 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "ROWS_PER_BLOCK == 1 or THREADS_PER_ROW <= 256 and CLUSTER == 1",
    "CLUSTER == 1 or ARCH >= 90 and THREADS_PER_ROW >= 128",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * (4 * ITEMS + 28) <= 65536"
  ],
  "launches": [
    {"kernel": "log_softmax_rows", "grid": ["ceil_div(M, ROWS_PER_BLOCK) * CLUSTER"],
     "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"], "cluster": ["CLUSTER"], "args": ["x", "y", {"i32": "M"}, {"i32": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x - log(sum of exp(x)) of each row, in one pass: a row is read once into registers, ITEMS packs of 16 bytes a thread,
// all under way at once, by the threads of one block or of a cluster, and written from there. A row that is longer goes
// through the registers tile by tile (online softmax) and is written from the last tile back, whose neighbours were read
// last and lie in L2.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/clusters.cuh>
#include <ak/functions.cuh>
#include <ak/reduce.cuh>
#include <ak/unaligned_rows.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS_PER_ROW = 512;
constexpr int ROWS_PER_BLOCK = 1;
constexpr int ITEMS = 4;
constexpr int CLUSTER = 1;
constexpr int CACHE = 1;
using scalar_t = float;
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));
constexpr int STRIDE = THREADS_PER_ROW * CLUSTER;  // packs from one of a thread's to its next
constexpr int TILE = STRIDE * ITEMS;               // packs that registers hold

// CACHE 1: evict-first hint for what is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
using Pack = ak::Pack<scalar_t, VEC>;
using Row = ak::UnalignedRow<scalar_t, VEC>;

// This thread's packs of the tile that begins at pack `first`.
template <ak::Cache CACHED>
__device__ __forceinline__ void read_tile(const scalar_t* x, const Row& row, int first, Pack (&packs)[ITEMS]) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * STRIDE < row.packs) packs[k] = ak::load<VEC, CACHED>(x + row.pack(first + k * STRIDE));
  }
}

// Adds a tile: one rescaling of the sum for all of it.
__device__ __forceinline__ ak::ExpSum with_tile(const Row& row, int first, const Pack (&packs)[ITEMS], ak::ExpSum sums) {
  float maximum = sums.maximum;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * STRIDE >= row.packs) continue;
#pragma unroll
    for (int i = 0; i < VEC; ++i) maximum = fmaxf(maximum, static_cast<float>(packs[k].value[i]));
  }
  sums = sums.raised(maximum);
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * STRIDE >= row.packs) continue;
#pragma unroll
    for (int i = 0; i < VEC; ++i) sums.sum += ak::fast_exp(static_cast<float>(packs[k].value[i]) - maximum);
  }
  return sums;
}

// The sums of all threads of the row.
__device__ __forceinline__ ak::ExpSum over_row(ak::ExpSum sums) {
  sums = ak::reduce_row<THREADS_PER_ROW, ROWS_PER_BLOCK>(sums, ak::MergeExpSums());
  if constexpr (CLUSTER > 1) {
    const float maximum = ak::reduce_cluster<CLUSTER, 0>(sums.maximum, ak::Maximum());
    sums = {maximum, ak::reduce_cluster<CLUSTER, 1>(sums.raised(maximum).sum, ak::Sum())};
    ak::cluster_sync();  // a block's parts are read by the others
  }
  return sums;
}

// Less the maximum first: what remains is small where the result is.
__device__ __forceinline__ scalar_t result_of(scalar_t x, float maximum, float logarithm) {
  return static_cast<scalar_t>((static_cast<float>(x) - maximum) - logarithm);
}

__device__ __forceinline__ void write_tile(const Row& row, int first, const Pack (&packs)[ITEMS], float maximum,
                                           float logarithm, scalar_t* y) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * STRIDE >= row.packs) continue;
    Pack result;
#pragma unroll
    for (int i = 0; i < VEC; ++i) result.value[i] = result_of(packs[k].value[i], maximum, logarithm);
    ak::store<HINT>(y + row.pack(first + k * STRIDE), result);
  }
}

// x, y: m rows of n; CLUSTER blocks serve ROWS_PER_BLOCK of them.
__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    log_softmax_rows(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int m, int n) {
  const int rank = static_cast<int>(blockIdx.x) % CLUSTER;
  const int r = static_cast<int>(blockIdx.x) / CLUSTER * ROWS_PER_BLOCK + static_cast<int>(threadIdx.y);
  x += static_cast<long long>(r) * n;
  y += static_cast<long long>(r) * n;
  const Row row(x, r < m ? n : 0);  // a row past the end is empty, but its threads reach the barriers
  const int first = rank * THREADS_PER_ROW + static_cast<int>(threadIdx.x);

  Pack packs[ITEMS];
  ak::ExpSum sums = ak::no_exponentials();
  int tile = 0;
  // Without a hint, as these are read again.
  for (; tile + TILE < row.packs; tile += TILE) {
    read_tile<ak::Cache::plain>(x, row, tile + first, packs);
    sums = with_tile(row, tile + first, packs, sums);
  }
  read_tile<HINT>(x, row, tile + first, packs);  // and `packs` keeps the last tile
  sums = with_tile(row, tile + first, packs, sums);
  for (int i = first; i < row.singles; i += STRIDE) sums = sums.with(static_cast<float>(x[row.single(i)]));
  sums = over_row(sums);

  const float maximum = sums.maximum, logarithm = logf(sums.sum);
  write_tile(row, tile + first, packs, maximum, logarithm, y);
  for (tile -= TILE; tile >= 0; tile -= TILE) {
    read_tile<HINT>(x, row, tile + first, packs);
    write_tile(row, tile + first, packs, maximum, logarithm, y);
  }
  for (int i = first; i < row.singles; i += STRIDE) {
    y[row.single(i)] = result_of(x[row.single(i)], maximum, logarithm);
  }
}
