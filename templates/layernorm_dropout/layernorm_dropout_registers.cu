/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [32, 64, 128, 256, 512, 1024], "default": 256},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8], "default": 1},
    "ELEMENTS": {"values": [8, 16, 32], "default": 16},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [0, 1, 2, 4], "default": 0}
  },
  "starts": [
    {"CACHE": 0, "ROWS_PER_BLOCK": 2, "THREADS_PER_ROW": 64},
    {"BLOCKS_PER_SM": 1, "CACHE": 0, "ELEMENTS": 32, "THREADS_PER_ROW": 128},
    {"CACHE": 0, "ELEMENTS": 8, "THREADS_PER_ROW": 1024},
    {"BLOCKS_PER_SM": 2, "CACHE": 0, "ELEMENTS": 32, "THREADS_PER_ROW": 128, "VEC_BYTES": 8}
  ],
  "constraints": [
    "VEC_BYTES >= 4 * sizeof_x",
    "64 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "ROWS_PER_BLOCK == 1 or THREADS_PER_ROW <= 128",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) <= 2048",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) * (ELEMENTS * (4 + 3 * sizeof_x) // 4 + 24) <= 65536"
  ],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "WIDE": "N % VEC == 0",
    "CAPACITY": "THREADS_PER_ROW * ELEMENTS",
    "GROUPS": "ceil_div(M, ROWS_PER_BLOCK)",
    "BLOCKS": "min(GROUPS, SM_COUNT * BLOCKS_PER_SM) if BLOCKS_PER_SM else GROUPS",
    "PART": "512 * 16",
    "CLUSTER": "2 if N <= 2 * PART else 4 if N <= 4 * PART else 8 if N <= 8 * PART else 16",
    "IN_PART": "WIDE and CAPACITY < N <= PART",
    "IN_CLUSTERS": "ARCH >= 90 and WIDE and max(CAPACITY, PART) < N <= PART * (16 if ARCH == 90 else 8)"
  },
  "launches": [
    {"kernel": "dropped_rows<VEC>", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "weight", "bias", "seed", "p", "y", "mask", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and WIDE"},
    {"kernel": "dropped_rows<1>", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "weight", "bias", "seed", "p", "y", "mask", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and not WIDE"},
    {"kernel": "dropped_in_clusters", "grid": ["M"], "block": [512],
     "args": ["x", "weight", "bias", "seed", "p", "y", "mask", {"i64": "M"}, {"i32": "N"}], "when": "IN_PART"},
    {"kernel": "dropped_in_clusters", "grid": ["M * CLUSTER"], "block": [512], "cluster": ["CLUSTER"],
     "args": ["x", "weight", "bias", "seed", "p", "y", "mask", {"i64": "M"}, {"i32": "N"}], "when": "IN_CLUSTERS"},
    {"kernel": "dropped_long_rows<VEC>", "grid": ["M"], "block": [512],
     "args": ["x", "weight", "bias", "seed", "p", "y", "mask", {"i32": "N"}], "when": "N > CAPACITY and WIDE and not IN_PART and not IN_CLUSTERS"},
    {"kernel": "dropped_long_rows<1>", "grid": ["M"], "block": [512],
     "args": ["x", "weight", "bias", "seed", "p", "y", "mask", {"i32": "N"}], "when": "N > CAPACITY and not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = dropout((x - mean) / sqrt(variance + 1e-5) * weight + bias) over each row; mask: which elements stayed. A row is
// in the registers of THREADS_PER_ROW threads, of a block of 512, or of a cluster of up to 16 of these: read once,
// written once. Random numbers belong to elements, not to threads (ak/philox.cuh), and are made when elements are
// written, after both reductions, so that they take no registers before. Without clusters, beyond their 131072 columns
// (65536 with clusters of 8), or where no vector divides a long row, dropped_long_rows reads a row again for each sum.
// With BLOCKS_PER_SM > 0 blocks stay and take rows in turn.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/philox.cuh>
#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS_PER_ROW = 256;
constexpr int ROWS_PER_BLOCK = 1;
constexpr int ELEMENTS = 16;
constexpr int VEC_BYTES = 16;
constexpr int CACHE = 1;
constexpr int BLOCKS_PER_SM = 0;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));
constexpr int LONG_THREADS = 512, LONG_ELEMENTS = 16;  // as the plan says: PART
constexpr float EPSILON = 1e-5f;

// Threads that an SM should hold, so that its rows overlap: 42, 64 or 128 registers each.
constexpr int RESIDENT = ELEMENTS == 8 ? 1536 : ELEMENTS == 16 ? 1024 : 512;
constexpr int BLOCK = THREADS_PER_ROW * ROWS_PER_BLOCK;
constexpr int BLOCKS_AT_ONCE = BLOCKS_PER_SM > 0 ? BLOCKS_PER_SM : RESIDENT > BLOCK ? RESIDENT / BLOCK : 1;

// CACHE 1: evict-first hints for rows, as their elements are touched once. Weights are read by every row.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

template <int WIDTH>
using Pack = ak::Pack<scalar_t, WIDTH>;

struct Results {
  scalar_t* y;
  unsigned char* mask;
  ak::Dropout dropout;
};

// A vector of centred elements at index `at` of the whole tensor, and whether each stays, to y and mask.
template <int WIDTH>
__device__ __forceinline__ void write(const Results& to, long long at, const float (&centred)[WIDTH], float scale,
                                      const Pack<WIDTH>& weight, const Pack<WIDTH>& bias) {
  bool stay[WIDTH];
  to.dropout.choose(stay, static_cast<unsigned long long>(at));
  Pack<WIDTH> y;
  ak::Pack<unsigned char, WIDTH> mask;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    const float value = centred[i] * scale * static_cast<float>(weight.value[i]) + static_cast<float>(bias.value[i]);
    y.value[i] = static_cast<scalar_t>(stay[i] ? value * to.dropout.scale : 0.0f);
    mask.value[i] = stay[i];
  }
  ak::store<HINT>(to.y + at, y);
  ak::store<HINT>(to.mask + at, mask);
}

// m rows of n elements, a multiple of WIDTH that the row's registers hold. Weights are kept where blocks stay; else they
// are read when they are needed, from L1 but for an SM's first row, and need no registers before.
template <int THREADS, int ROWS, int WIDTH, int ITEMS, bool CLUSTER, bool STAYS>
__device__ __forceinline__ void drop(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, const Results& to,
                                     long long m, int n) {
  ak::Row<THREADS, ROWS, WIDTH, ITEMS, CLUSTER> line;
  const long long stride = static_cast<long long>(gridDim.x / line.blocks()) * ROWS;
  long long group = static_cast<long long>(blockIdx.x / line.blocks()) * ROWS;  // first row of this block

  Pack<WIDTH> packs[ITEMS], weights[ITEMS], biases[ITEMS];
  const auto read_weights = [&]() {
    line.template read<ak::Cache::read_only>(weights, weight, n);
    line.template read<ak::Cache::read_only>(biases, bias, n);
  };
  line.template read<HINT>(packs, x + (group + threadIdx.y) * n, group + threadIdx.y < m ? n : 0);
  if constexpr (STAYS) read_weights();
  line.begin();
  for (; group < m; group += stride) {
    const long long row = group + threadIdx.y;
    const int columns = row < m ? n : 0;  // a row past the end has none, but its threads reach the barriers
    float values[ITEMS][WIDTH];
    ak::widen(values, packs);
    if constexpr (STAYS) line.template read<HINT>(packs, x + (row + stride) * n, row + stride < m ? n : 0);
    ak::subtract_mean(line, values, columns, n);
    const float scale = rsqrtf(ak::sum_of_squares(line, values, columns) / static_cast<float>(n) + EPSILON);
    if constexpr (!STAYS) read_weights();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if (line.column(item) >= columns) continue;
      write(to, row * n + line.column(item), values[item], scale, weights[item], biases[item]);
    }
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AT_ONCE)
    dropped_rows(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, const long long* seed, const float* p,
                 scalar_t* y, unsigned char* mask, long long m, int n) {
  const Results to = {y, mask, ak::Dropout(*seed, *p)};
  drop<THREADS_PER_ROW, ROWS_PER_BLOCK, WIDTH, ELEMENTS / WIDTH, false, (BLOCKS_PER_SM > 0)>(x, weight, bias, to, m, n);
}

// A row a cluster, which may be one block. Two blocks an SM, so that one reads while the other writes.
__global__ void __launch_bounds__(LONG_THREADS, 2)
    dropped_in_clusters(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, const long long* seed,
                        const float* p, scalar_t* y, unsigned char* mask, long long m, int n) {
  const Results to = {y, mask, ak::Dropout(*seed, *p)};
  drop<LONG_THREADS, 1, VEC, LONG_ELEMENTS / VEC, true, false>(x, weight, bias, to, m, n);
}

// One row a block, of any length; n % WIDTH == 0.
template <int WIDTH>
__global__ void __launch_bounds__(LONG_THREADS)
    dropped_long_rows(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, const long long* seed,
                      const float* p, scalar_t* y, unsigned char* mask, int n) {
  constexpr int kAtOnce = 4;
  const Results to = {y, mask, ak::Dropout(*seed, *p)};
  const long long start = static_cast<long long>(blockIdx.x) * n;
  ak::Row<LONG_THREADS, 1, WIDTH, 1> line;
  float sum = 0.0f;
  ak::for_each_vector<LONG_THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum += values[i];
  });
  const float mean = line.reduce(sum, ak::Sum()) / static_cast<float>(n);
  float squares = 0.0f;
  ak::for_each_vector<LONG_THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int column) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) squares += column < n ? (values[i] - mean) * (values[i] - mean) : 0.0f;
  });
  const float scale = rsqrtf(line.reduce(squares, ak::Sum()) / static_cast<float>(n) + EPSILON);
  ak::for_each_vector<LONG_THREADS, WIDTH, kAtOnce>(x + start, n, [&](float(&values)[WIDTH], int column) {
    if (column >= n) return;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[i] -= mean;
    write(to, start + column, values, scale, ak::load<WIDTH, ak::Cache::read_only>(weight + column),
          ak::load<WIDTH, ak::Cache::read_only>(bias + column));
  });
}
