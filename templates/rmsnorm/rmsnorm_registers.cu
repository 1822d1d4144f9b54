/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [32, 64, 128, 256, 512, 1024], "default": 256},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8], "default": 1},
    "VEC_BYTES": {"values": [4, 8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8], "default": 4},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"CACHE": 0, "ROWS_PER_BLOCK": 4, "VEC_BYTES": 8}
  ],
  "constraints": [
    "THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "VEC_BYTES // (4 if dtype == 'float32' else 2) * UNROLL <= 64",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * (VEC_BYTES // (4 if dtype == 'float32' else 2) * UNROLL + 24) <= 65536"
  ],
  "let": {
    "VEC": "VEC_BYTES // (4 if dtype == 'float32' else 2)",
    "CAPACITY": "THREADS_PER_ROW * VEC * UNROLL",
    "GROUPS": "ceil_div(M, ROWS_PER_BLOCK)"
  },
  "launches": [
    {"kernel": "rmsnorm_vector_rows", "grid": ["GROUPS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "weight", {"optional": "epsilon"}, "y", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and N % VEC == 0"},
    {"kernel": "rmsnorm_scalar_rows", "grid": ["GROUPS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "weight", {"optional": "epsilon"}, "y", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and N % VEC != 0"},
    {"kernel": "rmsnorm_long_rows", "grid": ["M"], "block": [512],
     "args": ["x", "weight", {"optional": "epsilon"}, "y", {"i64": "N"}], "when": "N > CAPACITY"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x / sqrt(mean of x^2 + epsilon) * weight over each row of x. THREADS_PER_ROW threads hold one row in registers, so
// that it is read once and written once: load (UNROLL independent vectors a thread), sum of squares, scale, store.
// Rows that do not fit (more than THREADS_PER_ROW * VEC * UNROLL elements) take the loop of rmsnorm_long_rows.
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
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// The input of the problem where it has any_epsilon; else kernels receive a null pointer in its place.
#if AK_ANY_EPSILON
using Epsilon = float;
__device__ __forceinline__ float value_of(Epsilon epsilon) { return epsilon; }
#else
using Epsilon = const void*;
__device__ __forceinline__ float value_of(Epsilon) { return 1e-6f; }
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

// x, y: m rows of n elements; n <= THREADS_PER_ROW * WIDTH * ITEMS and n % WIDTH == 0.
template <int WIDTH, int ITEMS>
__device__ __forceinline__ void rmsnorm_rows(const scalar_t* x, const scalar_t* weight, float epsilon, scalar_t* y,
                                             long long m, int n) {
  const long long row = static_cast<long long>(blockIdx.x) * ROWS_PER_BLOCK + threadIdx.y;
  const int columns = row < m ? n : 0;  // a row past the end has none, but its threads reach the barriers
  const int first = static_cast<int>(threadIdx.x) * WIDTH;
  constexpr int kStep = THREADS_PER_ROW * WIDTH;
  x += row * n;
  y += row * n;

  Pack<WIDTH> packs[ITEMS];
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * kStep < columns) packs[k] = ak::load<WIDTH, HINT>(x + first + k * kStep);
  }

  float value[ITEMS][WIDTH];
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      value[k][i] = first + k * kStep < columns ? static_cast<float>(packs[k].value[i]) : 0.0f;
      squares += value[k][i] * value[k][i];
    }
  }
  const float mean = sum_of_row<THREADS_PER_ROW, ROWS_PER_BLOCK, 0>(squares) / static_cast<float>(n);
  const float scale = rsqrtf(mean + epsilon);

#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * kStep >= columns) continue;
    const Pack<WIDTH> weights = ak::load<WIDTH, WEIGHTS>(weight + first + k * kStep);
    Pack<WIDTH> result;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
      result.value[i] = static_cast<scalar_t>(value[k][i] * scale * static_cast<float>(weights.value[i]));
    ak::store<HINT>(y + first + k * kStep, result);
  }
}

__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    rmsnorm_vector_rows(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                        Epsilon epsilon, scalar_t* __restrict__ y, long long m, int n) {
  rmsnorm_rows<VEC, UNROLL>(x, weight, value_of(epsilon), y, m, n);
}

__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    rmsnorm_scalar_rows(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                        Epsilon epsilon, scalar_t* __restrict__ y, long long m, int n) {
  rmsnorm_rows<1, VEC * UNROLL>(x, weight, value_of(epsilon), y, m, n);
}

// One row of n elements a block of 512 threads, n of any size; the later readings of a row come from L2 while all rows
// under way fit it.
__global__ void __launch_bounds__(512)
    rmsnorm_long_rows(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight,
                      Epsilon epsilon, scalar_t* __restrict__ y, long long n) {
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  const long long whole = n % VEC == 0 ? n : 0;  // elements that may be read as vectors
  const long long first = static_cast<long long>(threadIdx.x) * VEC;

  float squares = 0.0f;
  for (long long i = first; i < whole; i += 512 * VEC) {
    const Pack<VEC> pack = ak::load<VEC, HINT>(x + i);
#pragma unroll
    for (int k = 0; k < VEC; ++k) squares += static_cast<float>(pack.value[k]) * static_cast<float>(pack.value[k]);
  }
  for (long long i = whole + threadIdx.x; i < n; i += 512) {
    squares += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  }
  const float scale = rsqrtf(sum_of_row<512, 1, 1>(squares) / static_cast<float>(n) + value_of(epsilon));

  for (long long i = first; i < whole; i += 512 * VEC) {
    Pack<VEC> pack = ak::load<VEC, HINT>(x + i);
    const Pack<VEC> weights = ak::load<VEC, WEIGHTS>(weight + i);
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      pack.value[k] =
          static_cast<scalar_t>(static_cast<float>(pack.value[k]) * scale * static_cast<float>(weights.value[k]));
    }
    ak::store<HINT>(y + i, pack);
  }
  for (long long i = whole + threadIdx.x; i < n; i += 512) {
    y[i] = static_cast<scalar_t>(static_cast<float>(x[i]) * scale * static_cast<float>(weight[i]));
  }
}
