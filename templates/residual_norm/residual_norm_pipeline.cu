/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "ITEMS": {"values": [1, 2, 4], "default": 2},
    "PART_KB": {"values": [16, 32, 64, 128], "default": 32},
    "BLOCKS_PER_SM": {"values": [1, 2, 3, 4], "default": 2},
    "HOLD": {"values": [0, 1], "default": 1},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"BLOCKS_PER_SM": 3}
  ],
  "constraints": ["ARCH >= 90", "(THREADS + 32) * BLOCKS_PER_SM * (24 + 16 * ITEMS) <= 65536", "store == 'same'"],
  "let": {
    "ROW": "N * sizeof_x",
    "MOST": "16 if ARCH == 90 else 8",
    "PART_BYTES": "PART_KB * 1024",
    "CLUSTER": "1 if ROW <= PART_BYTES else 2 if ROW <= 2 * PART_BYTES else 4 if ROW <= 4 * PART_BYTES else 8 if ROW <= 8 * PART_BYTES else MOST",
    "CHUNK": "THREADS * ITEMS * 16",
    "PART": "ceil_div(ceil_div(ROW, CHUNK), CLUSTER)",
    "HELD": "HOLD * (2 if kind == 'layernorm' else 1) * PART * CHUNK",
    "STAGES": "min(32, ((SHARED_BYTES_PER_BLOCK + 1024) // BLOCKS_PER_SM - 3072 - HELD) // (2 * CHUNK))",
    "VECTORS": "ROW // 16",
    "SHORT": "ROW % 16 == 0 and VECTORS <= 128",
    "STREAMED": "ROW % 16 == 0 and not SHORT and STAGES > PART",
    "MOST_CLUSTERS": "max(1, SM_COUNT * BLOCKS_PER_SM // CLUSTER if CLUSTER <= 2 else SM_COUNT * 15 // 16 // CLUSTER * BLOCKS_PER_SM)",
    "CLUSTERS": "ceil_div(M, ceil_div(M, MOST_CLUSTERS))"
  },
  "launches": [
    {"kernel": "norm_streamed", "grid": ["CLUSTERS * CLUSTER"], "block": ["THREADS + 32"], "cluster": ["CLUSTER"],
     "shared_bytes": "2 * STAGES * CHUNK + HELD",
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i64": "M"}, {"i32": "N"}, {"i32": "STAGES"}], "when": "STREAMED"},
    {"kernel": "norm_twice<VEC>", "grid": ["M"], "block": [512],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i32": "N"}], "when": "not STREAMED and not SHORT and ROW % 16 == 0"},
    {"kernel": "norm_short<8, 1>", "grid": ["ceil_div(M, THREADS // 8 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 0 < VECTORS <= 8"},
    {"kernel": "norm_short<16, 1>", "grid": ["ceil_div(M, THREADS // 16 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 8 < VECTORS <= 16"},
    {"kernel": "norm_short<32, 1>", "grid": ["ceil_div(M, THREADS // 32 * (2 * ITEMS))"], "block": ["THREADS"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 16 < VECTORS <= 32"},
    {"kernel": "norm_short<32, 2>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 2))"], "block": ["THREADS"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 32 < VECTORS <= 64"},
    {"kernel": "norm_short<32, 3>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 3))"], "block": ["THREADS"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 64 < VECTORS <= 96"},
    {"kernel": "norm_short<32, 4>", "grid": ["ceil_div(M, THREADS // 32 * max(1, 2 * ITEMS // 4))"], "block": ["THREADS"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i64": "M"}, {"i32": "N"}], "when": "SHORT and 96 < VECTORS <= 128"},
    {"kernel": "norm_twice<1>", "grid": ["M"], "block": [512],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"i32": "N"}], "when": "ROW % 16 != 0"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// residual_out = x + residual, written at the first reading; y = the norm of that sum. Rows stream through shared
// memory (ak/row_pipeline.cuh): blocks stay, and BLOCKS_PER_SM of them share an SM; a cluster has a block for every
// PART_KB KiB of a row. With HOLD 1 each block keeps its part of the weights in shared memory; else they are read from
// L2 for every row. Rows of up to 2 KiB are in registers instead, several at once a warp (2 * ITEMS vectors a lane).
// Rows that are not aligned to 16 bytes, or longer than the shared memory of a cluster, are read twice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/row_pipeline.cuh>
#include <ak/row_readings.cuh>
#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
constexpr int ITEMS = 2;
constexpr int BLOCKS_PER_SM = 2;
constexpr int HOLD = 1;
constexpr int CACHE = 1;
using scalar_t = float;
#define AK_KIND_RMSNORM 1
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));

// CACHE 1: evict-first hints for rows, as their elements are touched once. Weights are read by every row.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

#ifdef AK_KIND_LAYERNORM
constexpr bool CENTRED = true;
#else
constexpr bool CENTRED = false;
#endif

// What a thread knows of its elements: their sum and sum of squares less the first of them, which keeps digits where a row
// is far from zero.
struct Own {
  float origin, sum, squares, count;
};
// Of some elements: how many, their mean, and the sum of squared distances from it (Chan et al.).
struct Moments {
  float count, mean, squares;
};
__device__ __forceinline__ Moments moments_of(const Own& own) {
  const float mean = own.sum / fmaxf(own.count, 1.0f);
  return {own.count, own.origin + mean, own.squares - own.sum * mean};
}
__device__ __forceinline__ Moments joined(Moments a, Moments b) {
  const float count = a.count + b.count, distance = b.mean - a.mean;
  const float share = a.count == b.count ? 0.5f : b.count / count;
  return {count, a.mean + distance * share, a.squares + b.squares + distance * distance * a.count * share};
}
template <int WIDTH>
__device__ __forceinline__ void add_to(Own& own, const float (&values)[WIDTH]) {
  if (own.count == 0.0f) own.origin = values[0];
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    const float distance = values[i] - own.origin;
    own.sum += distance;
    own.squares += distance * distance;
  }
  own.count += static_cast<float>(WIDTH);
}

struct Scaling {
  float mean, scale;
};

// The sum of an rmsnorm is one of squares; a layernorm needs moments.
struct Norm {
  using Element = scalar_t;
  static constexpr int kSources = 2, kWeights = CENTRED ? 2 : 1;
  const scalar_t *x, *residual, *weights, *biases;
  float epsilon;
  scalar_t *y, *residual_out;
  int n;

  __device__ __forceinline__ const scalar_t* source(int i) const { return i == 0 ? x : residual; }
  __device__ __forceinline__ const scalar_t* weight(int i) const { return i == 0 ? weights : biases; }
  __device__ __forceinline__ Own begin() const { return {0.0f, 0.0f, 0.0f, 0.0f}; }
  template <int WIDTH>
  static __device__ __forceinline__ void sum_up(float (&sums)[WIDTH],
                                                const ak::Pack<scalar_t, WIDTH> (&packs)[2]) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
      sums[i] = static_cast<float>(packs[0].value[i]) + static_cast<float>(packs[1].value[i]);
  }
  template <int WIDTH>
  __device__ __forceinline__ void add(Own& own, const ak::Pack<scalar_t, WIDTH> (&packs)[2], long long row,
                                      int column) const {
    float sums[WIDTH];
    sum_up(sums, packs);
    ak::store<HINT>(residual_out + row * n + column, ak::narrow<scalar_t>(sums));
    if constexpr (CENTRED) {
      add_to(own, sums);
    } else {
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) own.squares += sums[i] * sums[i];
    }
  }
  __device__ __forceinline__ Moments found(const Own& own) const {
    if constexpr (CENTRED) return moments_of(own);
    return {0.0f, 0.0f, own.squares};
  }
  __device__ __forceinline__ Moments both(Moments a, Moments b) const {
    if constexpr (CENTRED) return joined(a, b);
    return {0.0f, 0.0f, a.squares + b.squares};
  }
  __device__ __forceinline__ Scaling result(Moments all, long long, bool) const {
    return {all.mean, rsqrtf(all.squares / static_cast<float>(n) + epsilon)};
  }
  template <int WIDTH>
  __device__ __forceinline__ void put(Scaling by, const ak::Pack<scalar_t, WIDTH> (&packs)[2],
                                      const ak::Pack<scalar_t, WIDTH> (&weight)[kWeights], long long row,
                                      int column) const {
    float values[WIDTH];
    sum_up(values, packs);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      if constexpr (CENTRED) values[i] -= by.mean;
      values[i] *= by.scale * static_cast<float>(weight[0].value[i]);
      if constexpr (CENTRED) values[i] += static_cast<float>(weight[kWeights - 1].value[i]);
    }
    ak::store<HINT>(y + row * n + column, ak::narrow<scalar_t>(values));
  }
};

__global__ void __launch_bounds__(THREADS + 32, BLOCKS_PER_SM)
    norm_streamed(const scalar_t* x, const scalar_t* residual, const scalar_t* weight, const scalar_t* bias,
                  float epsilon, scalar_t* y, scalar_t* residual_out, long long m, int n, int stages) {
  ak::stream_rows<THREADS, ITEMS, HOLD == 1, CACHE == 1>(
      Norm{x, residual, weight, bias, epsilon, y, residual_out, n}, m, n, stages);
}

template <int LANES, int VECTORS>
__global__ void __launch_bounds__(THREADS)
    norm_short(const scalar_t* x, const scalar_t* residual, const scalar_t* weight, const scalar_t* bias,
               float epsilon, scalar_t* y, scalar_t* residual_out, long long m, int n) {
  constexpr int kRows = 2 * ITEMS > VECTORS ? 2 * ITEMS / VECTORS : 1;
  ak::hold_short_rows<THREADS, LANES, VECTORS, kRows, HINT>(
      Norm{x, residual, weight, bias, epsilon, y, residual_out, n}, m, n);
}

template <int WIDTH>
__global__ void __launch_bounds__(512)
    norm_twice(const scalar_t* x, const scalar_t* residual, const scalar_t* weight, const scalar_t* bias,
               float epsilon, scalar_t* y, scalar_t* residual_out, int n) {
  ak::read_rows_twice<512, WIDTH>(Norm{x, residual, weight, bias, epsilon, y, residual_out, n}, n);
}
