/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [512, 1024], "default": 512},
    "ELEMENTS": {"values": [8, 16, 32], "default": 16},
    "SPREAD": {"values": [1, 2, 4], "default": 1},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"CACHE": 0, "VEC_BYTES": 8}
  ],
  "constraints": ["ARCH >= 90"],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "WIDE": "N % VEC == 0",
    "MOST": "16 if ARCH == 90 else 8",
    "PART": "THREADS * ELEMENTS",
    "FEWEST": "2 if N <= 2 * PART else 4 if N <= 4 * PART else 8 if N <= 8 * PART else 16",
    "CLUSTER": "min(FEWEST * SPREAD, MOST)",
    "IN_CLUSTERS": "WIDE and PART < N <= MOST * PART"
  },
  "launches": [
    {"kernel": "rmsnorm_in_block<VEC>", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "weight", {"optional": "epsilon"}, "y", {"i32": "N"}], "when": "N <= PART and WIDE"},
    {"kernel": "rmsnorm_in_block<1>", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "weight", {"optional": "epsilon"}, "y", {"i32": "N"}], "when": "N <= PART and not WIDE"},
    {"kernel": "rmsnorm_in_cluster", "grid": ["M * CLUSTER"], "block": ["THREADS"], "cluster": ["CLUSTER"],
     "args": ["x", "weight", {"optional": "epsilon"}, "y", {"i32": "N"}], "when": "IN_CLUSTERS"},
    {"kernel": "rmsnorm_again<VEC>", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "weight", {"optional": "epsilon"}, "y", {"i32": "N"}], "when": "N > MOST * PART and WIDE"},
    {"kernel": "rmsnorm_again<1>", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "weight", {"optional": "epsilon"}, "y", {"i32": "N"}], "when": "N > PART and not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x / sqrt(mean of x^2 + epsilon) * weight over each row, for long rows: one lies in the registers of a cluster, so
// that it is read once and written once up to 131072 columns (262144 with ELEMENTS 32, half of that with clusters of 8).
// Sums meet in shared memory of the cluster, which has as many blocks as the row needs, or SPREAD times as many. Weights
// are read when they are needed, from L2. Rows beyond, and those that no vector divides, are read twice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 512;
constexpr int ELEMENTS = 16;
constexpr int VEC_BYTES = 16;
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

// CACHE 1: evict-first hints for rows, as their elements are touched once. Weights are read by every row.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// Blocks an SM, with 64 registers a thread: two of 512 threads, of which one reads while another writes; one of 1,024,
// which does not overlap.
constexpr int AT_ONCE = 1024 / THREADS;

// Writes a vector of elements at `column`, times scale and weights.
template <int WIDTH>
__device__ __forceinline__ void write(scalar_t* row, const scalar_t* weight, float (&values)[WIDTH], int column,
                                      float scale) {
  const auto weights = ak::load<WIDTH, ak::Cache::read_only>(weight + column);
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    values[i] = values[i] * scale * static_cast<float>(weights.value[i]);
  }
  ak::store<HINT>(row + column, ak::narrow<scalar_t>(values));
}

// One row of n elements, a multiple of WIDTH that the row's registers hold.
template <int WIDTH, bool CLUSTER>
__device__ __forceinline__ void normalise(const scalar_t* x, const scalar_t* weight, float epsilon, scalar_t* y,
                                          int n) {
  ak::Row<THREADS, 1, WIDTH, ELEMENTS / WIDTH, CLUSTER> line;
  const long long start = static_cast<long long>(blockIdx.x / line.blocks()) * n;
  ak::Pack<scalar_t, WIDTH> packs[ELEMENTS / WIDTH];
  line.template read<HINT>(packs, x + start, n);
  line.begin();
  float values[ELEMENTS / WIDTH][WIDTH];
  ak::widen(values, packs);
  const float scale = rsqrtf(ak::sum_of_squares(line, values, n) / static_cast<float>(n) + epsilon);
#pragma unroll
  for (int item = 0; item < ELEMENTS / WIDTH; ++item) {
    if (line.column(item) < n) write(y + start, weight, values[item], line.column(item), scale);
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS, AT_ONCE)
    rmsnorm_in_block(const scalar_t* x, const scalar_t* weight, Epsilon epsilon, scalar_t* y, int n) {
  normalise<WIDTH, false>(x, weight, value_of(epsilon), y, n);
}

__global__ void __launch_bounds__(THREADS, AT_ONCE)
    rmsnorm_in_cluster(const scalar_t* x, const scalar_t* weight, Epsilon epsilon, scalar_t* y, int n) {
  normalise<VEC, true>(x, weight, value_of(epsilon), y, n);
}

// One row a block, of any length; n % WIDTH == 0.
template <int WIDTH>
__global__ void __launch_bounds__(THREADS)
    rmsnorm_again(const scalar_t* x, const scalar_t* weight, Epsilon epsilon, scalar_t* y, int n) {
  constexpr int kAtOnce = 4;
  const long long start = static_cast<long long>(blockIdx.x) * n;
  ak::Row<THREADS, 1, WIDTH, 1> line;
  float squares = 0.0f;
  ak::for_each_vector<THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) squares += values[i] * values[i];
  });
  const float scale = rsqrtf(line.reduce(squares, ak::Sum()) / static_cast<float>(n) + value_of(epsilon));
  ak::for_each_vector<THREADS, WIDTH, kAtOnce>(x + start, n, [&](float(&values)[WIDTH], int column) {
    if (column >= n) return;
    write(y + start, weight, values, column, scale);
  });
}
