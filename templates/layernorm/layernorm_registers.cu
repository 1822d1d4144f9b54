/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [32, 64, 128, 256, 512, 1024], "default": 256},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8], "default": 1},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8], "default": 4},
    "CACHE": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [0, 1, 2, 4], "default": 0}
  },
  "starts": [
    {"BLOCKS_PER_SM": 1, "ROWS_PER_BLOCK": 2, "THREADS_PER_ROW": 128}
  ],
  "constraints": [
    "64 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "ROWS_PER_BLOCK == 1 or THREADS_PER_ROW <= 128",
    "VEC_BYTES // (4 if dtype == 'float32' else 2) * UNROLL <= 64",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) <= 2048",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) * (VEC_BYTES * UNROLL // 4 * 5 + 24) <= 65536"
  ],
  "let": {
    "VEC": "VEC_BYTES // (4 if dtype == 'float32' else 2)",
    "CAPACITY": "THREADS_PER_ROW * VEC * UNROLL",
    "GROUPS": "ceil_div(M, ROWS_PER_BLOCK)",
    "BLOCKS": "min(GROUPS, SM_COUNT * BLOCKS_PER_SM) if BLOCKS_PER_SM else GROUPS"
  },
  "launches": [
    {"kernel": "layernorm_vector_rows", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "weight", "bias", {"optional": "epsilon"}, "y", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and N % VEC == 0"},
    {"kernel": "layernorm_scalar_rows", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "weight", "bias", {"optional": "epsilon"}, "y", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and N % VEC != 0"},
    {"kernel": "layernorm_long_rows", "grid": ["M"], "block": [512],
     "args": ["x", "weight", "bias", {"optional": "epsilon"}, "y", {"i64": "N"}], "when": "N > CAPACITY"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = (x - mean) / sqrt(variance + epsilon) * weight + bias over each row of x. THREADS_PER_ROW threads hold one row in
// registers, so that it is read once and written once: load (UNROLL independent vectors a thread), mean, sum of squared
// distances from it (no cancellation, as in mean(x^2) - mean^2), scale, store. With BLOCKS_PER_SM > 0 blocks stay and
// take rows in turn: weights are read once, and a row arrives while the sums of the one before are taken.
// Rows that do not fit (more than THREADS_PER_ROW * VEC * UNROLL elements) take the loop of layernorm_long_rows.
// Rows whose length is no multiple of VEC are not aligned to a vector: they are read element by element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS_PER_ROW = 256;
constexpr int ROWS_PER_BLOCK = 1;
constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 4;
constexpr int CACHE = 1;
constexpr int BLOCKS_PER_SM = 0;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// The input of the problem where it has any_epsilon; else kernels receive a null pointer in its place.
#if AK_ANY_EPSILON
using Epsilon = float;
__device__ __forceinline__ float value_of(Epsilon epsilon) { return epsilon; }
#else
using Epsilon = const void*;
__device__ __forceinline__ float value_of(Epsilon) { return 1e-5f; }
#endif

// CACHE 1: evict-first hints for x and y, as their elements are touched once. Weights are read by every row.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
constexpr ak::Cache WEIGHTS = ak::Cache::read_only;
template <int COUNT>
using Pack = ak::Pack<scalar_t, COUNT>;

// The sum over a row in every thread of it.
template <int THREADS, int ROWS, int USE>
__device__ __forceinline__ float sum_of_row(float value) {
  return ak::reduce_row<THREADS, ROWS, USE>(value, ak::Sum());
}

// The vectors of a row that belong to this thread; columns: how many elements the row has.
template <int WIDTH, int ITEMS, ak::Cache CACHED = HINT>
__device__ __forceinline__ void load_row(Pack<WIDTH> (&packs)[ITEMS], const scalar_t* row, int columns) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const int at = (k * THREADS_PER_ROW + static_cast<int>(threadIdx.x)) * WIDTH;
    if (at < columns) packs[k] = ak::load<WIDTH, CACHED>(row + at);
  }
}

// x, y: m rows of n elements; n <= THREADS_PER_ROW * WIDTH * ITEMS and n % WIDTH == 0.
template <int WIDTH, int ITEMS>
__device__ __forceinline__ void layernorm_rows(const scalar_t* x, const scalar_t* weight, const scalar_t* bias,
                                               float epsilon, scalar_t* y, long long m, int n) {
  const int first = static_cast<int>(threadIdx.x) * WIDTH;
  constexpr int kStep = THREADS_PER_ROW * WIDTH;
  const long long stride = static_cast<long long>(gridDim.x) * ROWS_PER_BLOCK;
  long long group = static_cast<long long>(blockIdx.x) * ROWS_PER_BLOCK;  // first row of this block

  Pack<WIDTH> packs[ITEMS], weights[ITEMS], biases[ITEMS];
  load_row(packs, x + (group + threadIdx.y) * n, group + threadIdx.y < m ? n : 0);
  load_row<WIDTH, ITEMS, WEIGHTS>(weights, weight, n);
  load_row<WIDTH, ITEMS, WEIGHTS>(biases, bias, n);
  for (; group < m; group += stride) {
    const long long row = group + threadIdx.y;
    const int columns = row < m ? n : 0;  // a row past the end has none, but its threads reach the barriers
    float value[ITEMS][WIDTH];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) {
        value[k][i] = first + k * kStep < columns ? static_cast<float>(packs[k].value[i]) : 0.0f;
        sum += value[k][i];
      }
    }
    if (BLOCKS_PER_SM > 0) load_row(packs, x + (row + stride) * n, row + stride < m ? n : 0);
    const float mean = sum_of_row<THREADS_PER_ROW, ROWS_PER_BLOCK, 0>(sum) / static_cast<float>(n);

    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) {
        value[k][i] -= mean;
        if (first + k * kStep < columns) squares += value[k][i] * value[k][i];
      }
    }
    const float variance = sum_of_row<THREADS_PER_ROW, ROWS_PER_BLOCK, 1>(squares) / static_cast<float>(n);
    const float scale = rsqrtf(variance + epsilon);

#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (first + k * kStep >= columns) continue;
      Pack<WIDTH> result;
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) {
        result.value[i] = static_cast<scalar_t>(value[k][i] * scale * static_cast<float>(weights[k].value[i]) +
                                                static_cast<float>(biases[k].value[i]));
      }
      ak::store<HINT>(y + row * n + first + k * kStep, result);
    }
  }
}

__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    layernorm_vector_rows(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                          const scalar_t* __restrict__ bias, Epsilon epsilon, scalar_t* __restrict__ y,
                          long long m, int n) {
  layernorm_rows<VEC, UNROLL>(x, weight, bias, value_of(epsilon), y, m, n);
}

__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    layernorm_scalar_rows(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                          const scalar_t* __restrict__ bias, Epsilon epsilon, scalar_t* __restrict__ y,
                          long long m, int n) {
  layernorm_rows<1, VEC * UNROLL>(x, weight, bias, value_of(epsilon), y, m, n);
}

// One row of n elements a block of 512 threads, n of any size; the later readings of a row come from L2 while all rows
// under way fit it.
__global__ void __launch_bounds__(512)
    layernorm_long_rows(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                        const scalar_t* __restrict__ bias, Epsilon epsilon, scalar_t* __restrict__ y,
                        long long n) {
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  const long long whole = n % VEC == 0 ? n : 0;  // elements that may be read as vectors
  const long long first = static_cast<long long>(threadIdx.x) * VEC;

  float sum = 0.0f;
  for (long long i = first; i < whole; i += 512 * VEC) {
    const Pack<VEC> pack = ak::load<VEC, HINT>(x + i);
#pragma unroll
    for (int k = 0; k < VEC; ++k) sum += static_cast<float>(pack.value[k]);
  }
  for (long long i = whole + threadIdx.x; i < n; i += 512) sum += static_cast<float>(x[i]);
  const float mean = sum_of_row<512, 1, 2>(sum) / static_cast<float>(n);

  float squares = 0.0f;
  for (long long i = first; i < whole; i += 512 * VEC) {
    const Pack<VEC> pack = ak::load<VEC, HINT>(x + i);
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      const float distance = static_cast<float>(pack.value[k]) - mean;
      squares += distance * distance;
    }
  }
  for (long long i = whole + threadIdx.x; i < n; i += 512) {
    const float distance = static_cast<float>(x[i]) - mean;
    squares += distance * distance;
  }
  const float scale = rsqrtf(sum_of_row<512, 1, 3>(squares) / static_cast<float>(n) + value_of(epsilon));

  for (long long i = first; i < whole; i += 512 * VEC) {
    Pack<VEC> pack = ak::load<VEC, HINT>(x + i);
    const Pack<VEC> weights = ak::load<VEC, WEIGHTS>(weight + i), biases = ak::load<VEC, WEIGHTS>(bias + i);
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      const float value = (static_cast<float>(pack.value[k]) - mean) * scale * static_cast<float>(weights.value[k]);
      pack.value[k] = static_cast<scalar_t>(value + static_cast<float>(biases.value[k]));
    }
    ak::store<HINT>(y + i, pack);
  }
  for (long long i = whole + threadIdx.x; i < n; i += 512) {
    const float value = (static_cast<float>(x[i]) - mean) * scale * static_cast<float>(weight[i]);
    y[i] = static_cast<scalar_t>(value + static_cast<float>(bias[i]));
  }
}
