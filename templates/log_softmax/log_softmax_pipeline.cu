/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "ITEMS": {"values": [1, 2, 4], "default": 2},
    "PART_KB": {"values": [16, 32, 64, 128], "default": 32},
    "BLOCKS_PER_SM": {"values": [1, 2, 3, 4], "default": 2},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"ITEMS": 1}
  ],
  "constraints": ["ARCH >= 90", "(THREADS + 32) * BLOCKS_PER_SM * (24 + 4 * ITEMS) <= 65536"],
  "let": {
    "ROW": "N * sizeof_x",
    "MOST": "16 if ARCH == 90 else 8",
    "PART_BYTES": "PART_KB * 1024",
    "CLUSTER": "1 if ROW <= PART_BYTES else 2 if ROW <= 2 * PART_BYTES else 4 if ROW <= 4 * PART_BYTES else 8 if ROW <= 8 * PART_BYTES else MOST",
    "CHUNK": "THREADS * ITEMS * 16",
    "PART": "ceil_div(ceil_div(ROW, CHUNK), CLUSTER)",
    "STAGES": "min(32, ((SHARED_BYTES_PER_BLOCK + 1024) // BLOCKS_PER_SM - 3072) // CHUNK)",
    "VECTORS": "ROW // 16",
    "SHORT": "ROW % 16 == 0 and VECTORS <= 128",
    "STREAMED": "ROW % 16 == 0 and not SHORT and STAGES > PART",
    "MOST_CLUSTERS": "max(1, SM_COUNT * BLOCKS_PER_SM // CLUSTER if CLUSTER <= 2 else SM_COUNT * 15 // 16 // CLUSTER * BLOCKS_PER_SM)",
    "CLUSTERS": "ceil_div(M, ceil_div(M, MOST_CLUSTERS))"
  },
  "launches": [
    {"kernel": "log_softmax_streamed", "grid": ["CLUSTERS * CLUSTER"], "block": ["THREADS + 32"], "cluster": ["CLUSTER"],
     "shared_bytes": "STAGES * CHUNK",
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}, {"i32": "STAGES"}], "when": "STREAMED"},
    {"kernel": "log_softmax_twice<VEC>", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"i32": "N"}], "when": "not STREAMED and not SHORT and ROW % 16 == 0"},
    {"kernel": "log_softmax_short<8, 1>", "grid": ["ceil_div(M, THREADS // 8 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 0 < VECTORS <= 8"},
    {"kernel": "log_softmax_short<16, 1>", "grid": ["ceil_div(M, THREADS // 16 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 8 < VECTORS <= 16"},
    {"kernel": "log_softmax_short<32, 1>", "grid": ["ceil_div(M, THREADS // 32 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 16 < VECTORS <= 32"},
    {"kernel": "log_softmax_short<32, 2>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 2))"], "block": ["THREADS"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 32 < VECTORS <= 64"},
    {"kernel": "log_softmax_short<32, 3>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 3))"], "block": ["THREADS"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 64 < VECTORS <= 96"},
    {"kernel": "log_softmax_short<32, 4>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 4))"], "block": ["THREADS"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 96 < VECTORS <= 128"},
    {"kernel": "log_softmax_twice<1>", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"i32": "N"}], "when": "ROW % 16 != 0"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x - log(sum of exp(x)) of each row. Maximum and sum are found in one reading (online softmax), with one rescaling
// a vector. Rows stream through shared memory (ak/row_pipeline.cuh): blocks stay, and BLOCKS_PER_SM of them share an
// SM; a cluster has a block for every PART_KB KiB of a row. Rows of up to 2 KiB are in registers instead, several at
// once a warp (2 * ITEMS vectors a lane). Rows that are not aligned to 16 bytes, or longer than the shared memory of a
// cluster, are read twice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/row_pipeline.cuh>
#include <ak/row_readings.cuh>
#include <ak/rows.cuh>
#include <ak/unaligned_rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
constexpr int ITEMS = 2;
constexpr int BLOCKS_PER_SM = 2;
constexpr int CACHE = 1;
using scalar_t = float;
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));

// CACHE 1: evict-first hints for rows, as their elements are touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// What is found is the maximum and the sum of exponentials; of the result `sum` is its logarithm.
struct Softmax {
  using Element = scalar_t;
  static constexpr int kSources = 1, kWeights = 0;
  const scalar_t* x;
  scalar_t* y;
  int n;

  __device__ __forceinline__ const scalar_t* source(int) const { return x; }
  __device__ __forceinline__ ak::ExpSum begin() const { return ak::no_exponentials(); }
  template <int WIDTH>
  __device__ __forceinline__ void add(ak::ExpSum& sums, const ak::Pack<scalar_t, WIDTH> (&packs)[1],
                                      long long, int) const {
    float values[1][WIDTH];
    ak::widen(values, packs);
    float maximum = values[0][0], sum = 0.0f;
#pragma unroll
    for (int i = 1; i < WIDTH; ++i) maximum = fmaxf(maximum, values[0][i]);
    if (maximum > sums.maximum) sums = sums.raised(maximum);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum += ak::fast_exp(values[0][i] - sums.maximum);
    sums.sum += sum;
  }
  __device__ __forceinline__ ak::ExpSum found(ak::ExpSum sums) const { return sums; }
  __device__ __forceinline__ ak::ExpSum both(ak::ExpSum a, ak::ExpSum b) const {
    return ak::MergeExpSums()(a, b);
  }
  __device__ __forceinline__ ak::ExpSum result(ak::ExpSum all, long long, bool) const {
    return {all.maximum, logf(all.sum)};
  }
  template <int WIDTH>
  __device__ __forceinline__ void put(ak::ExpSum of, const ak::Pack<scalar_t, WIDTH> (&packs)[1],
                                      const ak::Pack<scalar_t, WIDTH> (&)[1], long long row,
                                      int column) const {
    float values[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      values[i] = (static_cast<float>(packs[0].value[i]) - of.maximum) - of.sum;
    }
    ak::store<HINT>(y + row * n + column, ak::narrow<scalar_t>(values));
  }
};

__global__ void __launch_bounds__(THREADS + 32, BLOCKS_PER_SM)
    log_softmax_streamed(const scalar_t* x, scalar_t* y, long long m, int n, int stages) {
  ak::stream_rows<THREADS, ITEMS, false, CACHE == 1>(Softmax{x, y, n}, m, n, stages);
}

template <int LANES, int VECTORS>
__global__ void __launch_bounds__(THREADS)
    log_softmax_short(const scalar_t* x, scalar_t* y, long long m, int n) {
  constexpr int kRows = 2 * ITEMS > VECTORS ? 2 * ITEMS / VECTORS : 1;
  ak::hold_short_rows<THREADS, LANES, VECTORS, kRows, HINT>(Softmax{x, y, n}, m, n);
}

template <int WIDTH>
__global__ void __launch_bounds__(512) log_softmax_twice(const scalar_t* x, scalar_t* y, int n) {
  ak::read_rows_twice<512, WIDTH>(Softmax{x, y, n}, n);
}
