/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "ITEMS": {"values": [4, 8, 16], "default": 8},
    "LANES": {"values": [2, 4, 8, 16, 32], "default": 8},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "let": {
    "TILES": "ceil_div(NNZ, THREADS * ITEMS)"
  },
  "workspace": [
    {"name": "heads", "dtype": "float32", "count": "TILES"},
    {"name": "tails", "dtype": "float32", "count": "TILES"},
    {"name": "tail_rows", "dtype": "int32", "count": "TILES"}
  ],
  "launches": [
    {"kernel": "multiply_tiles", "grid": ["TILES"], "block": ["THREADS"],
     "args": ["pointers", "columns", "values", "x", "y", "heads", "tails", "tail_rows", {"i32": "R"}, {"i32": "C"}, {"i32": "NNZ"}]},
    {"kernel": "add_heads", "grid": ["ceil_div(TILES, THREADS // 32)"], "block": ["THREADS"], "when": "TILES > 1",
     "args": ["pointers", "y", "heads", "tails", "tail_rows", {"i32": "TILES"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[r] = sum over the entries p of row r of values[p] x[columns[p]]. Every block has a tile of as many entries, whatever
// rows are like, and reads them in packs of neighbouring lanes. A warp finds the rows that begin in the tile, 32 ways a
// step. Products lie in shared memory, where LANES lanes sum a row. What a tile has of a row that began before is its
// head; of one that goes on behind it its tail. A second launch adds to each tail the heads that follow, in their order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/reduce.cuh>
#include <ak/threads.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
constexpr int ITEMS = 8;
constexpr int LANES = 8;
constexpr int CACHE = 1;
using scalar_t = float;
#endif

constexpr int TILE = THREADS * ITEMS;

// CACHE 1: evict-first hints for entries, which are touched once; x is wanted again.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

__device__ __forceinline__ float widen(scalar_t x) { return static_cast<float>(x); }

// The first row in 0 to rows that begins at `entry` or later, by a warp; pointers[rows] is no less than `entry`.
__device__ __forceinline__ int first_row_from(const int* pointers, int rows, long long entry) {
  int low = 0, high = rows;
  while (low < high) {
    const int step = (high - low + 31) / 32;
    const long long at = low + static_cast<long long>(ak::lane_index()) * step;
    const bool before = at < high && pointers[at] < entry;
    const int count = __popc(__ballot_sync(0xffffffffu, before));
    if (count == 0) return low;
    high = static_cast<int>(min(static_cast<long long>(high), low + static_cast<long long>(count) * step));
    low += (count - 1) * step + 1;
  }
  return low;
}

__global__ void __launch_bounds__(THREADS)
    multiply_tiles(const int* __restrict__ pointers, const int* __restrict__ columns, const scalar_t* __restrict__ values,
                   const scalar_t* __restrict__ x, scalar_t* __restrict__ y, float* __restrict__ heads,
                   float* __restrict__ tails, int* __restrict__ tail_rows, int rows, int width, int entries) {
  __shared__ float products[TILE];
  __shared__ int bounds[2];  // rows that begin in the tile: from the first on, up to the second
  const int thread = static_cast<int>(threadIdx.x), warp = ak::warp_index();
  const long long start = static_cast<long long>(blockIdx.x) * TILE;
  const bool is_last = start + TILE >= entries;
  const int count = static_cast<int>(is_last ? entries - start : TILE);

  int column[ITEMS];
  float value[ITEMS];
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const int at = k * THREADS + thread;
    column[k] = at < count ? ak::load<1, HINT>(columns + start + at).value[0] : -1;
    value[k] = at < count ? widen(ak::load<1, HINT>(values + start + at).value[0]) : 0.0f;
  }
  if (warp < 2) {
    const int found = warp == 1 && is_last ? rows : first_row_from(pointers, rows, warp == 0 ? start : start + count);
    if (ak::lane_index() == 0) bounds[warp] = found;
  }
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const bool exists = column[k] >= 0 && column[k] < width;
    const float other = exists ? widen(ak::load<1, ak::Cache::read_only>(x + column[k]).value[0]) : 0.0f;
    products[k * THREADS + thread] = exists ? value[k] * other : 0.0f;  // or NaN would come of it
  }
  __syncthreads();

  const int first = bounds[0], beyond = bounds[1], lane = thread % LANES;
  for (int row_of_warp = first; row_of_warp < beyond; row_of_warp += THREADS / LANES) {
    const int row = row_of_warp + thread / LANES;
    const bool inside = row < beyond && row >= first;  // no overflow past the last row
    const long long begin = inside ? pointers[row] - start : 0, end = inside ? pointers[row + 1] - start : 0;
    float sum = 0.0f;
    for (int i = static_cast<int>(begin) + lane; i < min(end, static_cast<long long>(count)); i += LANES) {
      sum += products[i];
    }
    sum = ak::reduce_lanes<LANES>(sum, ak::Sum());
    if (!inside || lane != 0) continue;
    if (end <= count) {
      y[row] = static_cast<scalar_t>(sum);
    } else {
      tails[blockIdx.x] = sum;
    }
  }
  const int before = static_cast<int>(min(pointers[first] - start, static_cast<long long>(count)));
  float head = 0.0f;
  for (int i = thread; i < before; i += THREADS) head += products[i];
  head = ak::reduce_row<THREADS>(head, ak::Sum());
  if (thread == 0) {
    heads[blockIdx.x] = head;
    tail_rows[blockIdx.x] = beyond > first && pointers[beyond] > start + count ? beyond - 1 : -1;
  }
}

// A warp a tile.
__global__ void __launch_bounds__(THREADS)
    add_heads(const int* __restrict__ pointers, scalar_t* __restrict__ y, const float* __restrict__ heads,
              const float* __restrict__ tails, const int* __restrict__ tail_rows, int tiles) {
  const int tile = static_cast<int>(blockIdx.x) * (THREADS / 32) + ak::warp_index();
  if (tile >= tiles) return;
  const int row = tail_rows[tile];
  if (row < 0) return;
  const int last = (pointers[row + 1] - 1) / TILE;
  float sum = 0.0f;
#pragma unroll 8
  for (int other = tile + 1 + ak::lane_index(); other <= last; other += 32) sum += heads[other];
  sum = ak::reduce_lanes(sum, ak::Sum());
  if (ak::lane_index() == 0) y[row] = static_cast<scalar_t>(tails[tile] + sum);
}
