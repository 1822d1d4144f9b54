/* alphakernel
{
  "tunables": {
    "TILE": {"values": [32, 64, 128], "default": 64},
    "BLOCK": {"values": [64, 128, 256, 512, 1024], "default": 256},
    "VEC_BYTES": {"values": [4, 8, 16], "default": 8},
    "OUT_WORDS": {"values": [1, 2, 4], "default": 4},
    "CACHE": {"values": [0, 1], "default": 0},
    "ALONG_COLUMNS": {"values": [0, 1], "default": 0}
  },
  "constraints": [
    "TILE * sizeof_x >= 128",
    "TILE * sizeof_x * (TILE + 1) <= 49152",
    "TILE * sizeof_x // 4 % (VEC_BYTES // sizeof_x) == 0",
    "TILE * sizeof_x // 4 // (VEC_BYTES // sizeof_x) * (TILE // 32) % (BLOCK // 32) == 0",
    "TILE // OUT_WORDS * (TILE * sizeof_x // 128) % (BLOCK // 32) == 0",
    "TILE * TILE * sizeof_x <= 256 * BLOCK"
  ],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "OUT": "OUT_WORDS * 4 // sizeof_x",
    "DOWN": "ceil_div(R, TILE)",
    "ACROSS": "ceil_div(C, TILE)",
    "WIDE": "C % VEC == 0 and R % OUT == 0"
  },
  "launches": [
    {"kernel": "transpose_tiles", "grid": ["DOWN * ACROSS"], "block": ["BLOCK"],
     "args": ["x", "y", {"i64": "R"}, {"i64": "C"}], "when": "WIDE"},
    {"kernel": "transpose_elements", "grid": ["ceil_div(R, 32) * ceil_div(C, 32)"], "block": [32, 8],
     "args": ["x", "y", {"i64": "R"}, {"i64": "C"}], "when": "not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[c, r] = x[r, c]. A block brings a tile of TILE x TILE elements into shared memory, reading whole vectors along the
// rows of x, and writes whole vectors along the rows of y. Elements of 2 bytes are joined in pairs from two rows on the
// way in, so that shared memory always moves words of 4 bytes. ALONG_COLUMNS: neighbouring blocks take tiles below each
// other. Matrices whose sides are no multiples of the vectors go element by element.
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
constexpr int ALONG_COLUMNS = 0;
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

// x: rows x columns, y: columns x rows; columns % VEC == 0, rows % (OUT_WORDS * PER_WORD) == 0.
__global__ void __launch_bounds__(BLOCK)
    transpose_tiles(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long rows, long long columns) {
  __shared__ unsigned int words[WORD_ROWS][PITCH];
  const long long across = (columns + TILE - 1) / TILE, down = (rows + TILE - 1) / TILE;
  const long long row = (ALONG_COLUMNS == 1 ? blockIdx.x % down : blockIdx.x / across) * TILE;
  const long long column = (ALONG_COLUMNS == 1 ? blockIdx.x / down : blockIdx.x % across) * TILE;
  Fetched tile;
  tile.fetch(reinterpret_cast<const bits_t*>(x) + row * columns + column, columns, rows - row, columns - column);
  tile.put(words, rows - row, columns - column);
  __syncthreads();
  write_transposed(words, reinterpret_cast<bits_t*>(y) + column * rows + row, rows, rows - row, columns - column);
}

__global__ void __launch_bounds__(256)
    transpose_elements(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long rows, long long columns) {
  __shared__ bits_t tile[32][33];
  const auto* from = reinterpret_cast<const bits_t*>(x);
  auto* to = reinterpret_cast<bits_t*>(y);
  const long long across = (columns + 31) / 32;
  const long long row = blockIdx.x / across * 32, column = blockIdx.x % across * 32;
  const int tx = threadIdx.x;
#pragma unroll
  for (int ty = threadIdx.y; ty < 32; ty += 8) {
    if (row + ty < rows && column + tx < columns) tile[ty][tx] = from[(row + ty) * columns + column + tx];
  }
  __syncthreads();
#pragma unroll
  for (int ty = threadIdx.y; ty < 32; ty += 8) {
    if (column + ty < columns && row + tx < rows) to[(column + ty) * rows + row + tx] = tile[tx][ty];
  }
}
