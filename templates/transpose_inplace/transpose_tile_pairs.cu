/* alphakernel
{
  "tunables": {
    "TILE": {"values": [32, 64, 128], "default": 64},
    "BLOCK": {"values": [64, 128, 256, 512, 1024], "default": 256},
    "VEC_BYTES": {"values": [4, 8, 16], "default": 8},
    "OUT_WORDS": {"values": [1, 2, 4], "default": 4},
    "CACHE": {"values": [0, 1], "default": 0}
  },
  "constraints": [
    "TILE * sizeof_x >= 128",
    "TILE * sizeof_x * (TILE + 1) * 2 <= 49152",
    "TILE * sizeof_x // 4 % (VEC_BYTES // sizeof_x) == 0",
    "TILE * sizeof_x // 4 // (VEC_BYTES // sizeof_x) * (TILE // 32) % (BLOCK // 32) == 0",
    "TILE // OUT_WORDS * (TILE * sizeof_x // 128) % (BLOCK // 32) == 0",
    "TILE * TILE * sizeof_x * 2 <= 256 * BLOCK"
  ],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "OUT": "OUT_WORDS * 4 // sizeof_x",
    "SIDE": "ceil_div(N, TILE)",
    "WIDE": "N % VEC == 0 and N % OUT == 0"
  },
  "launches": [
    {"kernel": "transpose_tile_pairs", "grid": ["SIDE * (SIDE + 1) // 2"], "block": ["BLOCK"],
     "args": ["x", {"i64": "N"}], "when": "WIDE"},
    {"kernel": "transpose_element_pairs", "grid": ["ceil_div(N, 32) * (ceil_div(N, 32) + 1) // 2"], "block": [32, 8],
     "args": ["x", {"i64": "N"}], "when": "not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// x becomes its transpose. A block takes a tile below the diagonal and its mirror image above: both are read into
// shared memory before either is written, so nothing is overwritten unread; tiles on the diagonal go alone. Rows are
// read and written in whole vectors; elements of 2 bytes are joined in pairs from two rows on the way in, so that
// shared memory always moves words of 4 bytes. Matrices whose side is no multiple of the vectors go element by element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/swizzle.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int TILE = 64;
constexpr int BLOCK = 256;
constexpr int VEC_BYTES = 16;
constexpr int OUT_WORDS = 4;
constexpr int CACHE = 0;
using scalar_t = float;
#endif

// Elements travel as bits; a word of shared memory holds one of 4 bytes, or two of 2 bytes from neighbouring rows.
constexpr int PER_WORD = 4 / static_cast<int>(sizeof(scalar_t));
constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));
constexpr int WARPS = BLOCK / 32;
constexpr int WORD_ROWS = TILE / PER_WORD;
// An odd pitch: the lanes of a warp, VEC rows by 32 / VEC vectors on the way in and OUT_WORDS columns by 32 / OUT_WORDS
// vectors on the way out, meet 32 different banks.
constexpr int PITCH = ak::odd_pitch(TILE);

using bits_t = ak::RawBytes<static_cast<int>(sizeof(scalar_t))>::type;

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// One tile of x in registers: every warp takes areas of VEC word rows by 32 columns, every lane one vector of each row.
struct Fetched {
  static constexpr int kAreasAcross = TILE / 32;
  static constexpr int kItems = WORD_ROWS / VEC * kAreasAcross / WARPS;
  ak::Pack<bits_t, VEC> packs[kItems][PER_WORD];

  static __device__ __forceinline__ int word_row(int item) {
    const int area = item * WARPS + static_cast<int>(threadIdx.x) / 32;
    return area / kAreasAcross * VEC + static_cast<int>(threadIdx.x) % 32 / (32 / VEC);
  }
  static __device__ __forceinline__ int column(int item) {
    const int area = item * WARPS + static_cast<int>(threadIdx.x) / 32;
    return area % kAreasAcross * 32 + static_cast<int>(threadIdx.x) % (32 / VEC) * VEC;
  }

  // x: the tile's first element; rows, columns: what is left of the matrix from there.
  __device__ __forceinline__ void fetch(const bits_t* x, long long pitch, long long rows, long long columns) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const int row = word_row(item) * PER_WORD;
      if (row >= rows || column(item) >= columns) continue;
#pragma unroll
      for (int k = 0; k < PER_WORD; ++k) packs[item][k] = ak::load<VEC, HINT>(x + (row + k) * pitch + column(item));
    }
  }
  __device__ __forceinline__ void put(unsigned int (&words)[WORD_ROWS][PITCH], long long rows,
                                      long long columns) const {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (word_row(item) * PER_WORD >= rows || column(item) >= columns) continue;
#pragma unroll
      for (int i = 0; i < VEC; ++i) {
        unsigned int word = packs[item][0].value[i];
        if constexpr (PER_WORD == 2) word |= static_cast<unsigned int>(packs[item][1].value[i]) << 16;
        words[word_row(item)][column(item) + i] = word;
      }
    }
  }
};

// Columns of the tile become rows of y; y: the first element of the transposed tile, rows, columns: those of x.
__device__ __forceinline__ void write_transposed(const unsigned int (&words)[WORD_ROWS][PITCH], bits_t* y,
                                                 long long pitch, long long rows, long long columns) {
  constexpr int kAreasAcross = WORD_ROWS / 32;
  constexpr int kItems = TILE / OUT_WORDS * kAreasAcross / WARPS;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int area = item * WARPS + static_cast<int>(threadIdx.x) / 32;
    const int column = area / kAreasAcross * OUT_WORDS + lane / (32 / OUT_WORDS);
    const int word = area % kAreasAcross * 32 + lane % (32 / OUT_WORDS) * OUT_WORDS;
    if (column >= columns || word * PER_WORD >= rows) continue;
    ak::Pack<unsigned int, OUT_WORDS> pack;
#pragma unroll
    for (int i = 0; i < OUT_WORDS; ++i) pack.value[i] = words[word + i][column];
    ak::store<HINT>(reinterpret_cast<unsigned int*>(y + column * pitch + word * PER_WORD), pack);
  }
}

// Tile (row, column) of the lower triangle, counted row by row.
struct Place {
  long long row, column;
  __device__ explicit Place(long long index) {
    row = static_cast<long long>((sqrt(8.0 * static_cast<double>(index) + 1.0) - 1.0) / 2.0);
    while ((row + 1) * (row + 2) / 2 <= index) ++row;
    while (row * (row + 1) / 2 > index) --row;
    column = index - row * (row + 1) / 2;
  }
};

// x: n x n; n % VEC == 0 and n % (OUT_WORDS * PER_WORD) == 0.
__global__ void __launch_bounds__(BLOCK) transpose_tile_pairs(scalar_t* x, long long n) {
  __shared__ unsigned int lower[WORD_ROWS][PITCH], upper[WORD_ROWS][PITCH];
  const Place place(blockIdx.x);
  const long long row = place.row * TILE, column = place.column * TILE;
  auto* bits = reinterpret_cast<bits_t*>(x);
  const bool pair = row != column;
  Fetched below, above;
  below.fetch(bits + row * n + column, n, n - row, n - column);
  if (pair) above.fetch(bits + column * n + row, n, n - column, n - row);
  below.put(lower, n - row, n - column);
  if (pair) above.put(upper, n - column, n - row);
  __syncthreads();
  write_transposed(lower, bits + column * n + row, n, n - row, n - column);
  if (pair) write_transposed(upper, bits + row * n + column, n, n - column, n - row);
}

__global__ void __launch_bounds__(256) transpose_element_pairs(scalar_t* x, long long n) {
  __shared__ bits_t lower[32][33], upper[32][33];
  const Place place(blockIdx.x);
  const long long row = place.row * 32, column = place.column * 32;
  auto* bits = reinterpret_cast<bits_t*>(x);
  const int tx = threadIdx.x;
#pragma unroll
  for (int ty = threadIdx.y; ty < 32; ty += 8) {
    if (row + ty < n && column + tx < n) lower[ty][tx] = bits[(row + ty) * n + column + tx];
    if (column + ty < n && row + tx < n) upper[ty][tx] = bits[(column + ty) * n + row + tx];
  }
  __syncthreads();
#pragma unroll
  for (int ty = threadIdx.y; ty < 32; ty += 8) {
    if (column + ty < n && row + tx < n) bits[(column + ty) * n + row + tx] = lower[tx][ty];
    if (row + ty < n && column + tx < n) bits[(row + ty) * n + column + tx] = upper[tx][ty];
  }
}
