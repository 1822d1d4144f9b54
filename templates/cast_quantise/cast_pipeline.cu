/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "ITEMS": {"values": [1, 2, 4], "default": 2},
    "PART_KB": {"values": [16, 32, 64, 128], "default": 32},
    "BLOCKS_PER_SM": {"values": [1, 2, 3, 4], "default": 2},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "constraints": ["ARCH >= 90", "(THREADS + 32) * BLOCKS_PER_SM * (24 + 4 * ITEMS) <= 65536", "scales == 'row'"],
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
    {"kernel": "cast_streamed", "grid": ["CLUSTERS * CLUSTER"], "block": ["THREADS + 32"], "cluster": ["CLUSTER"],
     "shared_bytes": "STAGES * CHUNK",
     "args": ["x", "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}, {"i32": "STAGES"}], "when": "STREAMED"},
    {"kernel": "cast_twice<VEC>", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"optional": "row_scales"}, {"i32": "N"}], "when": "not STREAMED and not SHORT and ROW % 16 == 0"},
    {"kernel": "cast_short<8, 1>", "grid": ["ceil_div(M, THREADS // 8 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 0 < VECTORS <= 8"},
    {"kernel": "cast_short<16, 1>", "grid": ["ceil_div(M, THREADS // 16 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 8 < VECTORS <= 16"},
    {"kernel": "cast_short<32, 1>", "grid": ["ceil_div(M, THREADS // 32 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 16 < VECTORS <= 32"},
    {"kernel": "cast_short<32, 2>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 2))"], "block": ["THREADS"],
     "args": ["x", "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 32 < VECTORS <= 64"},
    {"kernel": "cast_short<32, 3>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 3))"], "block": ["THREADS"],
     "args": ["x", "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 64 < VECTORS <= 96"},
    {"kernel": "cast_short<32, 4>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 4))"], "block": ["THREADS"],
     "args": ["x", "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 96 < VECTORS <= 128"},
    {"kernel": "cast_twice<1>", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"optional": "row_scales"}, {"i32": "N"}], "when": "ROW % 16 != 0"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x over the largest magnitude of its row over the largest code, as codes of e4m3, e5m2 or int8. Rows stream
// through shared memory (ak/row_pipeline.cuh): blocks stay, and BLOCKS_PER_SM of them share an SM; a cluster has a
// block for every PART_KB KiB of a row. Rows of up to 2 KiB are in registers instead, several at once a warp (2 * ITEMS
// vectors a lane). Rows that are not aligned to 16 bytes, or longer than the shared memory of a cluster, are read
// twice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/narrow.cuh>
#include <ak/row_pipeline.cuh>
#include <ak/row_readings.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
constexpr int ITEMS = 2;
constexpr int BLOCKS_PER_SM = 2;
constexpr int CACHE = 1;
using scalar_t = float;
#define AK_TO_FLOAT8_E4M3FN 1
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));

// CACHE 1: evict-first hints for rows, as their elements are touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

#if defined(AK_TO_FLOAT8_E4M3FN)
using Code = ak::e4m3;
#elif defined(AK_TO_FLOAT8_E5M2)
using Code = ak::e5m2;
#else
using Code = ak::s8;
#endif

// What is found is the largest magnitude, the result a factor.
struct Cast {
  using Element = scalar_t;
  static constexpr int kSources = 1, kWeights = 0;
  const scalar_t* x;
  unsigned char* y;
  float* scales;
  int n;

  __device__ __forceinline__ const scalar_t* source(int) const { return x; }
  __device__ __forceinline__ float begin() const { return 0.0f; }
  template <int WIDTH>
  __device__ __forceinline__ void add(float& largest, const ak::Pack<scalar_t, WIDTH> (&packs)[1], long long,
                                      int) const {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) largest = fmaxf(largest, fabsf(static_cast<float>(packs[0].value[i])));
  }
  __device__ __forceinline__ float found(float largest) const { return largest; }
  __device__ __forceinline__ float both(float a, float b) const { return fmaxf(a, b); }
  __device__ __forceinline__ float result(float largest, long long row, bool first) const {
    if (first) scales[row] = ak::scale_of<Code>(largest);
    return ak::factor_of<Code>(largest);
  }
  template <int WIDTH>
  __device__ __forceinline__ void put(float factor, const ak::Pack<scalar_t, WIDTH> (&packs)[1],
                                      const ak::Pack<scalar_t, WIDTH> (&)[1], long long row,
                                      int column) const {
    float values[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[i] = static_cast<float>(packs[0].value[i]);
    ak::store<HINT>(y + row * n + column, ak::quantise<Code>(values, factor));
  }
};

__global__ void __launch_bounds__(THREADS + 32, BLOCKS_PER_SM)
    cast_streamed(const scalar_t* x, unsigned char* y, float* scales, long long m, int n, int stages) {
  ak::stream_rows<THREADS, ITEMS, false, CACHE == 1>(Cast{x, y, scales, n}, m, n, stages);
}

template <int LANES, int VECTORS>
__global__ void __launch_bounds__(THREADS)
    cast_short(const scalar_t* x, unsigned char* y, float* scales, long long m, int n) {
  constexpr int kRows = 2 * ITEMS > VECTORS ? 2 * ITEMS / VECTORS : 1;
  ak::hold_short_rows<THREADS, LANES, VECTORS, kRows, HINT>(Cast{x, y, scales, n}, m, n);
}

template <int WIDTH>
__global__ void __launch_bounds__(512) cast_twice(const scalar_t* x, unsigned char* y, float* scales, int n) {
  ak::read_rows_twice<512, WIDTH>(Cast{x, y, scales, n}, n);
}
