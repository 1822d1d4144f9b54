/* alphakernel
{
  "tunables": {
    "TILE_IN": {"values": [32, 64, 128], "default": 64},
    "TILE_OUT": {"values": [32, 64, 128], "default": 64},
    "THREADS": {"values": [64, 128, 256, 512], "default": 256},
    "WORDS": {"values": [1, 2, 4, 8], "default": 4},
    "CACHE": {"values": [0, 1], "default": 1},
    "ALONG_OUT": {"values": [0, 1], "default": 0}
  },
  "starts": [
    {"WORDS": 8},
    {"CACHE": 0, "WORDS": 8},
    {"THREADS": 128, "WORDS": 8}
  ],
  "constraints": [
    "TILE_IN * TILE_OUT * sizeof_x <= 49152",
    "TILE_IN * TILE_OUT % (16 * THREADS) == 0",
    "TILE_IN * TILE_OUT <= 64 * THREADS",
    "permutation % 10 == 5 or WORDS == 4",
    "permutation % 10 != 5 or TILE_IN == 64 and TILE_OUT == 64 and ALONG_OUT == 0"
  ],
  "let": {
    "COUNT": "A * B * C * D * E",
    "P1": "permutation // 10000", "P2": "permutation // 1000 % 10", "P3": "permutation // 100 % 10",
    "P4": "permutation // 10 % 10", "P5": "permutation % 10",
    "TOGETHER_12": "P1 == 1 and P2 == 2 or P2 == 1 and P3 == 2 or P3 == 1 and P4 == 2 or P4 == 1 and P5 == 2",
    "TOGETHER_23": "P1 == 2 and P2 == 3 or P2 == 2 and P3 == 3 or P3 == 2 and P4 == 3 or P4 == 2 and P5 == 3",
    "TOGETHER_34": "P1 == 3 and P2 == 4 or P2 == 3 and P3 == 4 or P3 == 3 and P4 == 4 or P4 == 3 and P5 == 4",
    "TOGETHER_45": "P1 == 4 and P2 == 5 or P2 == 4 and P3 == 5 or P3 == 4 and P4 == 5 or P4 == 4 and P5 == 5",
    "UP_TO_1": "A",
    "UP_TO_2": "B * (UP_TO_1 if TOGETHER_12 else 1)",
    "UP_TO_3": "C * (UP_TO_2 if TOGETHER_23 else 1)",
    "UP_TO_4": "D * (UP_TO_3 if TOGETHER_34 else 1)",
    "IN": "E * (UP_TO_4 if TOGETHER_45 else 1)",
    "OUT": "UP_TO_1 if P5 == 1 else UP_TO_2 if P5 == 2 else UP_TO_3 if P5 == 3 else UP_TO_4 if P5 == 4 else 1",
    "ROW_BYTES": "IN * sizeof_x",
    "WORD": "16 if ROW_BYTES % 16 == 0 else 8 if ROW_BYTES % 8 == 0 else 4 if ROW_BYTES % 4 == 0 else 2",
    "ROW_BLOCKS": "ceil_div(COUNT * sizeof_x // WORD, THREADS * WORDS)",
    "TILES": "ceil_div(IN, TILE_IN) * ceil_div(OUT, TILE_OUT) * (COUNT // IN // OUT)",
    "IN_ROWS": "P5 == 5",
    "IN_TILES": "P5 != 5 and IN % 4 == 0 and OUT % 4 == 0"
  },
  "launches": [
    {"kernel": "permute_rows<uint4>", "grid": ["ROW_BLOCKS"], "block": ["THREADS"], "when": "IN_ROWS and WORD == 16",
     "args": ["x", "y", {"i32": "A"}, {"i32": "B"}, {"i32": "C"}, {"i32": "D"}, {"i32": "E"}]},
    {"kernel": "permute_rows<uint2>", "grid": ["ROW_BLOCKS"], "block": ["THREADS"], "when": "IN_ROWS and WORD == 8",
     "args": ["x", "y", {"i32": "A"}, {"i32": "B"}, {"i32": "C"}, {"i32": "D"}, {"i32": "E"}]},
    {"kernel": "permute_rows<unsigned int>", "grid": ["ROW_BLOCKS"], "block": ["THREADS"], "when": "IN_ROWS and WORD == 4",
     "args": ["x", "y", {"i32": "A"}, {"i32": "B"}, {"i32": "C"}, {"i32": "D"}, {"i32": "E"}]},
    {"kernel": "permute_rows<unsigned short>", "grid": ["ROW_BLOCKS"], "block": ["THREADS"], "when": "IN_ROWS and WORD == 2",
     "args": ["x", "y", {"i32": "A"}, {"i32": "B"}, {"i32": "C"}, {"i32": "D"}, {"i32": "E"}]},
    {"kernel": "permute_tiles", "grid": ["TILES"], "block": ["THREADS"], "when": "IN_TILES",
     "args": ["x", "y", {"i32": "IN"}, {"i32": "OUT"}, {"i32": "A"}, {"i32": "B"}, {"i32": "C"}, {"i32": "D"}, {"i32": "E"}]},
    {"kernel": "permute_elements", "grid": ["ceil_div(IN, 32) * ceil_div(OUT, 32) * (COUNT // IN // OUT)"], "block": [32, 8],
     "when": "not IN_ROWS and not IN_TILES",
     "args": ["x", "y", {"i32": "IN"}, {"i32": "OUT"}, {"i32": "A"}, {"i32": "B"}, {"i32": "C"}, {"i32": "D"}, {"i32": "E"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Axes in another order. Axes that stay neighbours are taken as one. Where the last axis stays the last, rows are copied
// in words of up to 16 bytes. Else the last axes of x and of y span matrices that are transposed, one for each choice of
// the others: a block takes a tile, and each thread takes blocks of 4 x 4 elements of it, which it reads along x, turns
// in registers and puts into shared memory; from there packs of 4 leave along y. Sides that 4 does not divide go element
// by element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int TILE_IN = 64;
constexpr int TILE_OUT = 64;
constexpr int THREADS = 256;
constexpr int WORDS = 4;
constexpr int CACHE = 1;
constexpr int ALONG_OUT = 0;
constexpr int PERMUTATION = 12435;
using scalar_t = float;
#endif

using bits_t = ak::RawBytes<static_cast<int>(sizeof(scalar_t))>::type;
using Pack = ak::Pack<bits_t, 4>;

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// The axis of x, from 0 on, that axis `place` of y is; and the place of an axis.
constexpr int axis_of(int place) {
  int digits = PERMUTATION;
  for (int i = 4; i > place; --i) digits /= 10;
  return digits % 10 - 1;
}
constexpr int place_of(int axis) {
  int place = 0;
  while (axis_of(place) != axis) ++place;
  return place;
}
// How many axes of x end with `axis` and are neighbours in y, too.
constexpr int together(int axis) {
  int count = 1;
  while (axis - count >= 0 && place_of(axis) - count >= 0 && axis_of(place_of(axis) - count) == axis - count) ++count;
  return count;
}
// Whether an axis is among those that the last of x, or the last of y, stands for.
constexpr bool is_inner(int axis) {
  return axis > 4 - together(4) || (axis <= axis_of(4) && axis > axis_of(4) - together(axis_of(4)));
}

// What a call is about: sizes of the axes of x, and steps in x and y along them.
struct Axes {
  unsigned int size[5], in_step[5], out_step[5];

  __device__ __forceinline__ Axes(int a, int b, int c, int d, int e) {
    const int sizes[5] = {a, b, c, d, e};
    unsigned int in = 1, out = 1;
#pragma unroll
    for (int axis = 4; axis >= 0; --axis) {
      size[axis] = static_cast<unsigned int>(sizes[axis]);
      in_step[axis] = in;
      in *= size[axis];
    }
#pragma unroll
    for (int place = 4; place >= 0; --place) {
      out_step[axis_of(place)] = out;
      out *= size[axis_of(place)];
    }
  }

  // Where choice `outer` of the axes that are not inner begins in x and in y.
  __device__ __forceinline__ void place(unsigned int outer, unsigned int& in, unsigned int& out) const {
    in = out = 0;
#pragma unroll
    for (int place = 4; place >= 0; --place) {
      const int axis = axis_of(place);
      if (is_inner(axis)) continue;
      const unsigned int at = outer % size[axis];
      outer /= size[axis];
      in += at * in_step[axis];
      out += at * out_step[axis];
    }
  }
};

// The last axis stays the last. Rows are those of the last axes that stay together.
template <class Word>
__global__ void __launch_bounds__(THREADS)
    permute_rows(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int a, int b, int c, int d, int e) {
  constexpr int kPerWord = static_cast<int>(sizeof(Word) / sizeof(scalar_t));
  constexpr int kFirst = 5 - together(4);  // axis of x with which rows begin
  const Axes axes(a, b, c, d, e);
  const unsigned int row_words = axes.in_step[kFirst] * axes.size[kFirst] / kPerWord;
  const unsigned int words = axes.in_step[0] * axes.size[0] / kPerWord;
  const unsigned int first = blockIdx.x * (THREADS * WORDS) + threadIdx.x;
  ak::Pack<Word, 1> packs[WORDS];
#pragma unroll
  for (int w = 0; w < WORDS; ++w) {
    const unsigned int to = first + w * THREADS;
    if (to >= words) continue;
    unsigned int in, out;
    axes.place(to / row_words, in, out);
    packs[w] = ak::load<1, HINT>(reinterpret_cast<const Word*>(x) + in / kPerWord + to % row_words);
  }
#pragma unroll
  for (int w = 0; w < WORDS; ++w) {
    if (first + w * THREADS < words) ak::store<HINT>(reinterpret_cast<Word*>(y) + first + w * THREADS, packs[w]);
  }
}

// A tile of the matrix that the last axes of x (columns) and of y (rows) span.
struct Tile {
  unsigned int row, column;  // first of them
  long long from, to;        // of its first element, in x and in y
  unsigned int row_step, column_step;  // in x from row to row; in y from column to column

  __device__ __forceinline__ Tile(const Axes& axes, unsigned int columns, unsigned int rows, unsigned int width,
                                  unsigned int height) {
    const unsigned int across = (columns + width - 1) / width, down = (rows + height - 1) / height;
    const unsigned int tile = blockIdx.x % (across * down);
    column = (ALONG_OUT == 1 ? tile / down : tile % across) * width;
    row = (ALONG_OUT == 1 ? tile % down : tile / across) * height;
    unsigned int in, out;
    axes.place(blockIdx.x / (across * down), in, out);
    row_step = axes.in_step[axis_of(4)];
    column_step = axes.out_step[4];
    from = in + static_cast<long long>(row) * row_step + column;
    to = out + static_cast<long long>(column) * column_step + row;
  }
};

// columns, rows: multiples of 4.
__global__ void __launch_bounds__(THREADS)
    permute_tiles(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int columns, int rows, int a, int b, int c,
                  int d, int e) {
  constexpr int kAcross = TILE_IN / 4, kDown = TILE_OUT / 4, kItems = kAcross * kDown / THREADS;
  __shared__ Pack memory[TILE_IN][kDown];  // of y: a line a column; packs are exchanged so that banks differ
  const Tile tile(Axes(a, b, c, d, e), columns, rows, TILE_IN, TILE_OUT);
  const auto* from = reinterpret_cast<const bits_t*>(x) + tile.from;
  auto* to = reinterpret_cast<bits_t*>(y) + tile.to;
  Pack packs[kItems][4];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int block = item * THREADS + static_cast<int>(threadIdx.x);
    const unsigned int column = block % kAcross * 4, row = block / kAcross * 4;
    if (tile.column + column >= columns || tile.row + row >= rows) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      packs[item][i] = ak::load<4, HINT>(from + static_cast<long long>(row + i) * tile.row_step + column);
    }
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int block = item * THREADS + static_cast<int>(threadIdx.x);
    const int across = block % kAcross, down = block / kAcross;
    if (tile.column + across * 4 >= columns || tile.row + down * 4 >= rows) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Pack turned;
#pragma unroll
      for (int k = 0; k < 4; ++k) turned.value[k] = packs[item][k].value[i];
      memory[across * 4 + i][down ^ across % kDown].raw = turned.raw;
    }
  }
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kItems * 4; ++item) {
    const int index = item * THREADS + static_cast<int>(threadIdx.x);
    const int column = index / kDown, down = index % kDown;
    if (tile.column + column >= columns || tile.row + down * 4 >= rows) continue;
    Pack pack;
    pack.raw = memory[column][down ^ column / 4 % kDown].raw;
    ak::store<HINT>(to + static_cast<long long>(column) * tile.column_step + down * 4, pack);
  }
}

__global__ void __launch_bounds__(256)
    permute_elements(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int columns, int rows, int a, int b, int c,
                     int d, int e) {
  __shared__ bits_t memory[32][33];
  const Tile tile(Axes(a, b, c, d, e), columns, rows, 32, 32);
  const auto* from = reinterpret_cast<const bits_t*>(x) + tile.from;
  auto* to = reinterpret_cast<bits_t*>(y) + tile.to;
  const unsigned int tx = threadIdx.x;
#pragma unroll
  for (unsigned int ty = threadIdx.y; ty < 32; ty += 8) {
    if (tile.row + ty >= rows || tile.column + tx >= columns) continue;
    memory[ty][tx] = from[static_cast<long long>(ty) * tile.row_step + tx];
  }
  __syncthreads();
#pragma unroll
  for (unsigned int ty = threadIdx.y; ty < 32; ty += 8) {
    if (tile.column + ty >= columns || tile.row + tx >= rows) continue;
    to[static_cast<long long>(ty) * tile.column_step + tx] = memory[tx][ty];
  }
}
