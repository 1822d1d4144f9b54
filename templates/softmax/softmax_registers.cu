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

// Built-in types that the cache-hint intrinsics know, by size.
template <int BYTES> struct Raw;
template <> struct Raw<2> { using type = unsigned short; };
template <> struct Raw<4> { using type = unsigned int; };
template <> struct Raw<8> { using type = uint2; };
template <> struct Raw<16> { using type = uint4; };

template <int COUNT>
union Pack {
  using RawType = typename Raw<COUNT * static_cast<int>(sizeof(scalar_t))>::type;
  RawType raw;
  scalar_t value[COUNT];
  __device__ Pack() {}
};

// CACHE 1: evict-first hints, as every element is touched once.
template <int COUNT>
__device__ __forceinline__ Pack<COUNT> load(const scalar_t* address) {
  const auto* raw = reinterpret_cast<const typename Pack<COUNT>::RawType*>(address);
  Pack<COUNT> pack;
  pack.raw = CACHE == 1 ? __ldcs(raw) : *raw;
  return pack;
}

template <int COUNT>
__device__ __forceinline__ void store(scalar_t* address, const Pack<COUNT>& pack) {
  auto* raw = reinterpret_cast<typename Pack<COUNT>::RawType*>(address);
  if (CACHE == 1) {
    __stcs(raw, pack.raw);
  } else {
    *raw = pack.raw;
  }
}

// FAST_EXP 1: one hardware exponential. Subtracting the maximum before scaling by log2(e) keeps the largest terms,
// whose argument is near 0, exact to the last bits.
__device__ __forceinline__ float exp_of(float x) {
  if (FAST_EXP == 0) return expf(x);
  float result;  // exp2f would add two instructions for results below 2^-126, which no output can show
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.4426950408889634f));
  return result;
}

__device__ __forceinline__ float negative_infinity() { return __int_as_float(0xff800000); }

struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// The same value in every thread of the row: butterfly within the warps, then over the row's warps through shared
// memory. THREADS threads (blockDim.x) serve a row, ROWS rows (blockDim.y) share the block; all threads take part.
template <int THREADS, int ROWS, class Operation>
__device__ __forceinline__ float reduce_row(float value, Operation operation) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = operation(value, __shfl_xor_sync(0xffffffffu, value, offset));
  constexpr int kWarps = THREADS / 32;
  if constexpr (kWarps > 1) {
    __shared__ float partial[ROWS][kWarps];  // one array for each operation: no barrier needed between two reductions
    if (threadIdx.x % 32 == 0) partial[threadIdx.y][threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[threadIdx.y][threadIdx.x % kWarps];
#pragma unroll
    for (int offset = kWarps / 2; offset > 0; offset /= 2) {
      value = operation(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
  }
  return value;
}

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
    if (first + k * kStep < columns) packs[k] = load<WIDTH>(x + first + k * kStep);
  }

  float value[ITEMS][WIDTH];
  float maximum = negative_infinity();
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      value[k][i] = first + k * kStep < columns ? static_cast<float>(packs[k].value[i]) : negative_infinity();
      maximum = fmaxf(maximum, value[k][i]);
    }
  }
  maximum = reduce_row<THREADS_PER_ROW, ROWS_PER_BLOCK>(maximum, Maximum());

  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      value[k][i] = exp_of(value[k][i] - maximum);
      sum += value[k][i];
    }
  }
  const float scale = 1.0f / reduce_row<THREADS_PER_ROW, ROWS_PER_BLOCK>(sum, Sum());

#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    Pack<WIDTH> result;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) result.value[i] = static_cast<scalar_t>(value[k][i] * scale);
    if (first + k * kStep < columns) store<WIDTH>(y + first + k * kStep, result);
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
// sum of exponentials relative to it; the row is read a second time, mostly from L2, to write the result.
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
    const Pack<VEC> pack = load<VEC>(x + i);
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

  const float row_maximum = reduce_row<512, 1>(maximum, Maximum());
  const float scale = 1.0f / reduce_row<512, 1>(sum * exp_of(maximum - row_maximum), Sum());

  for (long long i = first; i < whole; i += 512 * VEC) {
    Pack<VEC> pack = load<VEC>(x + i);
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      pack.value[k] = static_cast<scalar_t>(exp_of(static_cast<float>(pack.value[k]) - row_maximum) * scale);
    }
    store<VEC>(y + i, pack);
  }
#pragma unroll 1
  for (long long i = whole + threadIdx.x; i < n; i += 512) {
    y[i] = static_cast<scalar_t>(exp_of(static_cast<float>(x[i]) - row_maximum) * scale);
  }
}
