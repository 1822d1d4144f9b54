/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [16, 32, 64, 128, 256, 512, 1024], "default": 128},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8, 16], "default": 2},
    "ELEMENTS": {"values": [8, 16, 32], "default": 16},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [0, 1, 2, 4], "default": 0}
  },
  "starts": [
    {"BLOCKS_PER_SM": 1, "CACHE": 0, "ELEMENTS": 8, "THREADS_PER_ROW": 32},
    {"BLOCKS_PER_SM": 4, "CACHE": 0, "ELEMENTS": 8, "ROWS_PER_BLOCK": 16, "THREADS_PER_ROW": 16, "VEC_BYTES": 8},
    {"CACHE": 0, "ROWS_PER_BLOCK": 1, "THREADS_PER_ROW": 256},
    {"CACHE": 0, "ELEMENTS": 32, "ROWS_PER_BLOCK": 8, "THREADS_PER_ROW": 16},
    {"BLOCKS_PER_SM": 1, "CACHE": 0, "ROWS_PER_BLOCK": 16, "THREADS_PER_ROW": 64, "VEC_BYTES": 8}
  ],
  "constraints": [
    "64 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "ROWS_PER_BLOCK == 1 or THREADS_PER_ROW <= 128",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) <= 2048",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) * (ELEMENTS * (4 + sizeof_x) // 4 + 24) <= 65536"
  ],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "CAPACITY": "THREADS_PER_ROW * ELEMENTS",
    "GROUPS": "ceil_div(M, ROWS_PER_BLOCK)",
    "BLOCKS": "min(GROUPS, SM_COUNT * BLOCKS_PER_SM) if BLOCKS_PER_SM else GROUPS",
    "PART": "512 * 16",
    "CLUSTER": "2 if N <= 2 * PART else 4 if N <= 4 * PART else 8 if N <= 8 * PART else 16",
    "IN_PART": "N % VEC == 0 and CAPACITY < N <= PART",
    "IN_CLUSTERS": "ARCH >= 90 and N % VEC == 0 and max(CAPACITY, PART) < N <= PART * (16 if ARCH == 90 else 8)"
  },
  "launches": [
    {"kernel": "l2norm_rows<VEC>", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and N % VEC == 0"},
    {"kernel": "l2norm_rows<1>", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and N % VEC != 0"},
    {"kernel": "l2norm_in_clusters", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "IN_PART"},
    {"kernel": "l2norm_in_clusters", "grid": ["M * CLUSTER"], "block": [512], "cluster": ["CLUSTER"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "IN_CLUSTERS"},
    {"kernel": "l2norm_long_rows<VEC>", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"i32": "N"}], "when": "N > CAPACITY and N % VEC == 0 and not IN_PART and not IN_CLUSTERS"},
    {"kernel": "l2norm_long_rows<1>", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"i32": "N"}], "when": "N > CAPACITY and N % VEC != 0"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x / max(sqrt(sum of x^2), 1e-12) over each row. A row is in the registers of THREADS_PER_ROW threads, of a block
// of 512, or of a cluster of up to 16 of these: read once, written once. Embeddings and heads are short: with 16 or 32
// threads a row nothing crosses warps, and ROWS_PER_BLOCK rows are under way in a block. Without clusters, beyond
// their 131072 columns (65536 with clusters of 8), or where no vector divides a long row, l2norm_long_rows reads a row
// twice. With BLOCKS_PER_SM > 0 blocks stay and take rows in turn, reading one while the one before is in work.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS_PER_ROW = 128;
constexpr int ROWS_PER_BLOCK = 2;
constexpr int ELEMENTS = 16;
constexpr int VEC_BYTES = 16;
constexpr int CACHE = 1;
constexpr int BLOCKS_PER_SM = 0;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));
constexpr int LONG_THREADS = 512, LONG_ELEMENTS = 16;  // as the plan says: PART
constexpr float SHORTEST = 1e-12f;

// Threads that an SM should hold, so that its rows overlap: 32, 42 or 64 registers each.
constexpr int RESIDENT = ELEMENTS == 8 ? 2048 : ELEMENTS == 16 ? 1536 : 1024;
constexpr int BLOCK = THREADS_PER_ROW * ROWS_PER_BLOCK;
constexpr int BLOCKS_AT_ONCE = BLOCKS_PER_SM > 0 ? BLOCKS_PER_SM : RESIDENT > BLOCK ? RESIDENT / BLOCK : 1;

// CACHE 1: evict-first hints, as elements are touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

template <int WIDTH>
__device__ __forceinline__ void write(scalar_t* to, float (&values)[WIDTH], float factor) {
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) values[i] *= factor;
  ak::store<HINT>(to, ak::narrow<scalar_t>(values));
}

__device__ __forceinline__ float factor_for(float squares) { return 1.0f / fmaxf(sqrtf(squares), SHORTEST); }

// m rows of n elements, a multiple of WIDTH that the row's registers hold.
template <int THREADS, int ROWS, int WIDTH, int ITEMS, bool CLUSTER, bool STAYS>
__device__ __forceinline__ void normalise(const scalar_t* x, scalar_t* y, long long m, int n) {
  ak::Row<THREADS, ROWS, WIDTH, ITEMS, CLUSTER> line;
  const long long stride = static_cast<long long>(gridDim.x / line.blocks()) * ROWS;
  long long group = static_cast<long long>(blockIdx.x / line.blocks()) * ROWS;  // first row of this block

  ak::Pack<scalar_t, WIDTH> packs[ITEMS];
  line.template read<HINT>(packs, x + (group + threadIdx.y) * n, group + threadIdx.y < m ? n : 0);
  line.begin();
  for (; group < m; group += stride) {
    const long long row = group + threadIdx.y;
    const int columns = row < m ? n : 0;  // a row past the end has none, but its threads reach the barriers
    float values[ITEMS][WIDTH];
    ak::widen(values, packs);
    if constexpr (STAYS) line.template read<HINT>(packs, x + (row + stride) * n, row + stride < m ? n : 0);
    const float factor = factor_for(ak::sum_of_squares(line, values, columns));
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if (line.column(item) < columns) write(y + row * n + line.column(item), values[item], factor);
    }
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AT_ONCE)
    l2norm_rows(const scalar_t* x, scalar_t* y, long long m, int n) {
  normalise<THREADS_PER_ROW, ROWS_PER_BLOCK, WIDTH, ELEMENTS / WIDTH, false, (BLOCKS_PER_SM > 0)>(x, y, m, n);
}

// A row a cluster, which may be one block. Two blocks an SM, so that one reads while the other writes.
__global__ void __launch_bounds__(LONG_THREADS, 2)
    l2norm_in_clusters(const scalar_t* x, scalar_t* y, long long m, int n) {
  normalise<LONG_THREADS, 1, VEC, LONG_ELEMENTS / VEC, true, false>(x, y, m, n);
}

// One row a block, of any length; n % WIDTH == 0.
template <int WIDTH>
__global__ void __launch_bounds__(LONG_THREADS) l2norm_long_rows(const scalar_t* x, scalar_t* y, int n) {
  constexpr int kAtOnce = 4;
  const long long start = static_cast<long long>(blockIdx.x) * n;
  ak::Row<LONG_THREADS, 1, WIDTH, 1> line;
  float squares = 0.0f;
  ak::for_each_vector<LONG_THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) squares += values[i] * values[i];
  });
  const float factor = factor_for(line.reduce(squares, ak::Sum()));
  ak::for_each_vector<LONG_THREADS, WIDTH, kAtOnce>(x + start, n, [&](float(&values)[WIDTH], int column) {
    if (column < n) write(y + start + column, values, factor);
  });
}
