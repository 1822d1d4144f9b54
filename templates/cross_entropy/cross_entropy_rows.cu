/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [32, 64, 128, 256, 512, 1024], "default": 512},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8], "default": 1},
    "ITEMS": {"values": [1, 2, 4, 8], "default": 8},
    "CLUSTER": {"values": [1, 2, 4, 8], "default": 1},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"CACHE": 0, "ITEMS": 4, "ROWS_PER_BLOCK": 8, "THREADS_PER_ROW": 64},
    {"ITEMS": 1}
  ],
  "constraints": [
    "64 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "ROWS_PER_BLOCK == 1 or THREADS_PER_ROW <= 256 and CLUSTER == 1",
    "CLUSTER == 1 or ARCH >= 90 and THREADS_PER_ROW >= 128",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * (4 * ITEMS + 28) <= 65536"
  ],
  "launches": [
    {"kernel": "cross_entropy_rows", "grid": ["ceil_div(M, ROWS_PER_BLOCK) * CLUSTER"],
     "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"], "cluster": ["CLUSTER"],
     "args": ["logits", "target", "ignore_index", "smoothing", {"optional": "dloss"}, "loss", {"optional": "dlogits"},
              {"i32": "M"}, {"i32": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Cross entropy of each row of logits, and with `gradient` that of the logits, in one pass: a row is read once into
// registers, ITEMS packs of 16 bytes a thread, all under way at once, by the threads of one block or of a cluster.
// Maximum and sum of exponentials meet over lanes, warps and blocks; the gradient is written from the registers. A row that
// is longer goes through them tile by tile (online softmax), and its gradient is written from the last tile back, whose
// neighbours were read last and lie in L2. Rows that are ignored are not read.
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
constexpr int ITEMS = 8;
constexpr int CLUSTER = 1;
constexpr int CACHE = 1;
constexpr bool GRADIENT = true;
using scalar_t = float;
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));
constexpr int STRIDE = THREADS_PER_ROW * CLUSTER;  // packs from one of a thread's to its next
constexpr int TILE = STRIDE * ITEMS;               // packs that registers hold

// CACHE 1: evict-first hint for what is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
// What the gradient reads again should stay.
constexpr ak::Cache AGAIN = GRADIENT ? ak::Cache::plain : HINT;
using Pack = ak::Pack<scalar_t, VEC>;
using Row = ak::UnalignedRow<scalar_t, VEC>;

// What a row's loss is made of; `logits` is their sum.
struct Sums {
  ak::ExpSum exponentials;
  float logits;
};

// This thread's packs of the tile that begins at pack `first`.
template <ak::Cache CACHED>
__device__ __forceinline__ void read_tile(const scalar_t* x, const Row& row, int first, Pack (&packs)[ITEMS]) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * STRIDE < row.packs) packs[k] = ak::load<VEC, CACHED>(x + row.pack(first + k * STRIDE));
  }
}

// Adds a tile: one rescaling of the sum for all of it.
__device__ __forceinline__ void add_tile(const Row& row, int first, const Pack (&packs)[ITEMS], Sums& sums) {
  float maximum = sums.exponentials.maximum;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * STRIDE >= row.packs) continue;
#pragma unroll
    for (int i = 0; i < VEC; ++i) maximum = fmaxf(maximum, static_cast<float>(packs[k].value[i]));
  }
  sums.exponentials = sums.exponentials.raised(maximum);
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * STRIDE >= row.packs) continue;
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      const float value = static_cast<float>(packs[k].value[i]);
      sums.exponentials.sum += ak::fast_exp(value - maximum);
      sums.logits += value;
    }
  }
}

// The sums of all threads of the row.
__device__ __forceinline__ Sums over_row(Sums own) {
  const auto merge = ak::MergeExpSums();
  Sums all{ak::reduce_row<THREADS_PER_ROW, ROWS_PER_BLOCK>(own.exponentials, merge),
           ak::reduce_row<THREADS_PER_ROW, ROWS_PER_BLOCK>(own.logits, ak::Sum())};
  if constexpr (CLUSTER > 1) {
    const float maximum = ak::reduce_cluster<CLUSTER, 0>(all.exponentials.maximum, ak::Maximum());
    all.exponentials = {maximum, ak::reduce_cluster<CLUSTER, 1>(all.exponentials.raised(maximum).sum, ak::Sum())};
    all.logits = ak::reduce_cluster<CLUSTER, 2>(all.logits, ak::Sum());
    ak::cluster_sync();  // a block's parts are read by the others
  }
  return all;
}

// The gradient of a row's logits: slope * (softmax - smoothing / n), and less at the target.
struct Gradient {
  float maximum, scale, even, at_target;
  int target;
  __device__ __forceinline__ scalar_t of(scalar_t logit, int column) const {
    const float x = ak::fast_exp(static_cast<float>(logit) - maximum) * scale - even;
    return static_cast<scalar_t>(column == target ? x - at_target : x);
  }
};

__device__ __forceinline__ void write_tile(const Row& row, int first, const Pack (&packs)[ITEMS], const Gradient& gradient,
                                           scalar_t* y) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * STRIDE >= row.packs) continue;
    const int column = row.pack(first + k * STRIDE);
    Pack result;
#pragma unroll
    for (int i = 0; i < VEC; ++i) result.value[i] = gradient.of(packs[k].value[i], column + i);
    ak::store<HINT>(y + column, result);
  }
}

__device__ __forceinline__ void write_zeros(const Row& row, int first, scalar_t* y) {
  Pack zeros;
#pragma unroll
  for (int i = 0; i < VEC; ++i) zeros.value[i] = static_cast<scalar_t>(0.0f);
  for (int i = first; i < row.packs; i += STRIDE) ak::store<HINT>(y + row.pack(i), zeros);
  for (int i = first; i < row.singles; i += STRIDE) y[row.single(i)] = static_cast<scalar_t>(0.0f);
}

// logits, dlogits: m rows of n; CLUSTER blocks serve ROWS_PER_BLOCK of them.
__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    cross_entropy_rows(const scalar_t* __restrict__ logits, const long long* __restrict__ target, long long ignore_index,
                       float smoothing, const float* __restrict__ dloss, float* __restrict__ loss,
                       scalar_t* __restrict__ dlogits, int m, int n) {
  const int rank = static_cast<int>(blockIdx.x) % CLUSTER;
  const int r = static_cast<int>(blockIdx.x) / CLUSTER * ROWS_PER_BLOCK + static_cast<int>(threadIdx.y);
  // Rows past the end are taken for ignored ones, whose threads reach the barriers.
  const long long wanted = r < m ? target[r] : -1;
  const bool ignored = wanted == ignore_index || wanted < 0 || wanted >= n;
  const int columns = ignored ? 0 : n;
  const scalar_t* x = logits + static_cast<long long>(r) * n;
  const Row row(x, columns);
  const int first = rank * THREADS_PER_ROW + static_cast<int>(threadIdx.x);
  const float chosen = ignored ? 0.0f : static_cast<float>(x[wanted]);

  Pack packs[ITEMS];
  Sums sums{ak::no_exponentials(), 0.0f};
  int tile = 0;
  for (; tile + TILE < row.packs; tile += TILE) {
    read_tile<AGAIN>(x, row, tile + first, packs);
    add_tile(row, tile + first, packs, sums);
  }
  read_tile<HINT>(x, row, tile + first, packs);  // and `packs` keeps the last tile
  add_tile(row, tile + first, packs, sums);
  for (int i = first; i < row.singles; i += STRIDE) {
    const float value = static_cast<float>(x[row.single(i)]);
    sums.exponentials = sums.exponentials.with(value);
    sums.logits += value;
  }
  sums = over_row(sums);

  if (r >= m) return;
  const float maximum = sums.exponentials.maximum, logarithm = logf(sums.exponentials.sum);
  if (first == 0) {
    float result = (maximum - chosen) + logarithm;
    const float mean = sums.logits / static_cast<float>(n);
    if (smoothing > 0.0f) result = (1.0f - smoothing) * result + smoothing * ((maximum - mean) + logarithm);
    loss[r] = ignored ? 0.0f : result;
  }
  if constexpr (GRADIENT) {
    scalar_t* y = dlogits + static_cast<long long>(r) * n;
    if (ignored) return write_zeros(Row(y, n), first, y);
    const float slope = dloss[r];
    const Gradient gradient{maximum, slope / sums.exponentials.sum, slope * smoothing / static_cast<float>(n),
                            slope * (1.0f - smoothing), static_cast<int>(wanted)};
    write_tile(row, tile + first, packs, gradient, y);
    for (tile -= TILE; tile >= 0; tile -= TILE) {
      read_tile<HINT>(x, row, tile + first, packs);
      write_tile(row, tile + first, packs, gradient, y);
    }
    for (int i = first; i < row.singles; i += STRIDE) y[row.single(i)] = gradient.of(x[row.single(i)], row.single(i));
  }
}
