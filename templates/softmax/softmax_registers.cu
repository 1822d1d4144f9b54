/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [32, 64, 128, 256, 512, 1024], "default": 256},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8], "default": 1},
    "VEC_BYTES": {"values": [4, 8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8, 16], "default": 2},
    "CACHE": {"values": [0, 1], "default": 1},
    "FAST_EXP": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"CACHE": 0}
  ],
  "constraints": [
    "64 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "ROWS_PER_BLOCK == 1 or THREADS_PER_ROW <= 256",
    "VEC_BYTES // (4 if dtype == 'float32' else 2) * UNROLL <= 128",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * (VEC_BYTES // (4 if dtype == 'float32' else 2) * UNROLL + 24) <= 65536"
  ],
  "let": {
    "VEC": "VEC_BYTES // (4 if dtype == 'float32' else 2)",
    "CAPACITY": "THREADS_PER_ROW * VEC * UNROLL",
    "GROUPS": "ceil_div(M, ROWS_PER_BLOCK)"
  },
  "launches": [
    {"kernel": "softmax_vector_rows", "grid": ["GROUPS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and N % VEC == 0"},
    {"kernel": "softmax_scalar_rows", "grid": ["GROUPS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "y", {"i64": "M"}, {"i32": "N"}], "when": "N <= CAPACITY and N % VEC != 0"},
    {"kernel": "softmax_long_rows", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"i64": "N"}], "when": "N > CAPACITY"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = softmax of each row of x. THREADS_PER_ROW threads hold one row in registers, so that it is read once and
// written once: load (UNROLL independent vectors a thread), maximum, exponentials and their sum, scale, store.
// Rows that do not fit (more than THREADS_PER_ROW * VEC * UNROLL elements) take the loop of softmax_long_rows.
// Rows whose length is no multiple of VEC are not aligned to a vector: they are read element by element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS_PER_ROW = 256;
constexpr int ROWS_PER_BLOCK = 1;
constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 2;
constexpr int CACHE = 1;
constexpr int FAST_EXP = 1;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
template <int COUNT>
using Pack = ak::Pack<scalar_t, COUNT>;

// FAST_EXP 1: one hardware exponential. Subtracting the maximum before scaling by log2(e) keeps the largest terms,
// whose argument is near 0, exact to the last bits.
__device__ __forceinline__ float exp_of(float x) { return FAST_EXP == 0 ? expf(x) : ak::fast_exp(x); }

// x, y: m rows of n elements; n <= THREADS_PER_ROW * WIDTH * ITEMS and n % WIDTH == 0.
template <int WIDTH, int ITEMS>
__device__ __forceinline__ void softmax_rows(const scalar_t* x, scalar_t* y, long long m, int n) {
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
  float maximum = ak::minus_infinity();
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      value[k][i] = first + k * kStep < columns ? static_cast<float>(packs[k].value[i]) : ak::minus_infinity();
      maximum = fmaxf(maximum, value[k][i]);
    }
  }
  maximum = ak::reduce_row<THREADS_PER_ROW, ROWS_PER_BLOCK>(maximum, ak::Maximum());

  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      value[k][i] = exp_of(value[k][i] - maximum);
      sum += value[k][i];
    }
  }
  const float scale = 1.0f / ak::reduce_row<THREADS_PER_ROW, ROWS_PER_BLOCK>(sum, ak::Sum());

#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    Pack<WIDTH> result;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) result.value[i] = static_cast<scalar_t>(value[k][i] * scale);
    if (first + k * kStep < columns) ak::store<HINT>(y + first + k * kStep, result);
  }
}

__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    softmax_vector_rows(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long m, int n) {
  softmax_rows<VEC, UNROLL>(x, y, m, n);
}

__global__ void __launch_bounds__(THREADS_PER_ROW* ROWS_PER_BLOCK)
    softmax_scalar_rows(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long m, int n) {
  softmax_rows<1, VEC * UNROLL>(x, y, m, n);
}

// x, y: one row of n elements a block of 512 threads, n of any size. Every thread keeps a running maximum and the
// sum of exponentials relative to it; the row is read a second time, from L2 while all rows under way
// fit it, to write the result.
__global__ void __launch_bounds__(512)
    softmax_long_rows(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, long long n) {
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  const long long whole = n % VEC == 0 ? n : 0;  // elements that may be read as vectors
  const long long first = static_cast<long long>(threadIdx.x) * VEC;

  // The lowest finite number, so that a thread without elements merges as 0 * exp(very negative).
  float maximum = -3.402823466e38f;
  float sum = 0.0f;
  for (long long i = first; i < whole; i += 512 * VEC) {
    const Pack<VEC> pack = ak::load<VEC, HINT>(x + i);
    float next = maximum;
#pragma unroll
    for (int k = 0; k < VEC; ++k) next = fmaxf(next, static_cast<float>(pack.value[k]));
    sum *= exp_of(maximum - next);
    maximum = next;
#pragma unroll
    for (int k = 0; k < VEC; ++k) sum += exp_of(static_cast<float>(pack.value[k]) - maximum);
  }
#pragma unroll 1
  for (long long i = whole + threadIdx.x; i < n; i += 512) {
    const float value = static_cast<float>(x[i]);
    const float next = fmaxf(maximum, value);
    sum = sum * exp_of(maximum - next) + exp_of(value - next);
    maximum = next;
  }

  const float row_maximum = ak::reduce_row<512, 1>(maximum, ak::Maximum());
  const float scale = 1.0f / ak::reduce_row<512, 1>(sum * exp_of(maximum - row_maximum), ak::Sum());

  for (long long i = first; i < whole; i += 512 * VEC) {
    Pack<VEC> pack = ak::load<VEC, HINT>(x + i);
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      pack.value[k] = static_cast<scalar_t>(exp_of(static_cast<float>(pack.value[k]) - row_maximum) * scale);
    }
    ak::store<HINT>(y + i, pack);
  }
#pragma unroll 1
  for (long long i = whole + threadIdx.x; i < n; i += 512) {
    y[i] = static_cast<scalar_t>(exp_of(static_cast<float>(x[i]) - row_maximum) * scale);
  }
}
