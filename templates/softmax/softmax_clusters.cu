/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [512, 1024], "default": 512},
    "ELEMENTS": {"values": [8, 16, 32], "default": 16},
    "SPREAD": {"values": [1, 2, 4], "default": 1},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1},
    "FAST_EXP": {"values": [0, 1], "default": 1}
  },
  "constraints": ["ARCH >= 90"],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "WIDE": "N % VEC == 0",
    "MOST": "16 if ARCH == 90 else 8",
    "PART": "THREADS * ELEMENTS",
    "FEWEST": "1 if N <= PART else 2 if N <= 2 * PART else 4 if N <= 4 * PART else 8 if N <= 8 * PART else 16",
    "CLUSTER": "min(FEWEST * SPREAD, MOST)",
    "IN_CLUSTERS": "WIDE and PART < N <= MOST * PART",
    "LARGE_PART": "1024 * 32",
    "LARGE_CLUSTER": "2 if N <= 2 * LARGE_PART else 4 if N <= 4 * LARGE_PART else 8 if N <= 8 * LARGE_PART else 16",
    "IN_LARGE_CLUSTERS": "WIDE and MOST * PART < N <= MOST * LARGE_PART"
  },
  "launches": [
    {"kernel": "softmax_in_block<VEC>", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "y", {"i32": "N"}], "when": "N <= PART and WIDE"},
    {"kernel": "softmax_in_block<1>", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "y", {"i32": "N"}], "when": "N <= PART and not WIDE"},
    {"kernel": "softmax_in_cluster<THREADS, ELEMENTS>", "grid": ["M * CLUSTER"], "block": ["THREADS"], "cluster": ["CLUSTER"],
     "args": ["x", "y", {"i32": "N"}], "when": "IN_CLUSTERS"},
    {"kernel": "softmax_in_cluster<1024, 32>", "grid": ["M * LARGE_CLUSTER"], "block": [1024], "cluster": ["LARGE_CLUSTER"],
     "args": ["x", "y", {"i32": "N"}], "when": "IN_LARGE_CLUSTERS"},
    {"kernel": "softmax_again<VEC>", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "y", {"i32": "N"}], "when": "N > MOST * max(PART, LARGE_PART) and WIDE"},
    {"kernel": "softmax_again<1>", "grid": ["M"], "block": ["THREADS"],
     "args": ["x", "y", {"i32": "N"}], "when": "N > PART and not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = softmax of each row of x, for long rows: a row lies in the registers of a cluster of blocks, so that it is read once
// and written once up to 524288 columns (262144 with clusters of 8). Maximum and sum meet in shared memory of the cluster.
// A cluster has as many blocks as the row needs, or SPREAD times as many. Rows beyond, and those that no vector divides,
// are read three times, again from L2 while all rows under way fit it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 512;
constexpr int ELEMENTS = 16;
constexpr int VEC_BYTES = 16;
constexpr int CACHE = 1;
constexpr int FAST_EXP = 1;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// Blocks an SM, with 64 registers a thread: two of 512 threads, of which one reads while another writes; one of 1,024,
// which does not overlap.
template <int COUNT>
constexpr int AT_ONCE = 1024 / COUNT;

// FAST_EXP 1: one hardware exponential. Subtracting the maximum before scaling by log2(e) keeps the largest terms,
// whose argument is near 0, exact to the last bits.
__device__ __forceinline__ float exp_of(float x) { return FAST_EXP == 0 ? expf(x) : ak::fast_exp(x); }

// One row of n elements, a multiple of WIDTH that the row's registers hold.
template <int COUNT, int WIDTH, int ITEMS, bool CLUSTER>
__device__ __forceinline__ void softmax(const scalar_t* x, scalar_t* y, int n) {
  ak::Row<COUNT, 1, WIDTH, ITEMS, CLUSTER> line;
  const long long start = static_cast<long long>(blockIdx.x / line.blocks()) * n;
  ak::Pack<scalar_t, WIDTH> packs[ITEMS];
  line.template read<HINT>(packs, x + start, n);
  line.begin();
  float values[ITEMS][WIDTH];
  ak::widen(values, packs);
  float maximum = ak::minus_infinity();
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) maximum = line.column(item) < n ? fmaxf(maximum, values[item][i]) : maximum;
  }
  maximum = line.reduce(maximum, ak::Maximum());
  float sum = 0.0f;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      values[item][i] = exp_of(values[item][i] - maximum);
      sum += line.column(item) < n ? values[item][i] : 0.0f;
    }
  }
  const float scale = 1.0f / line.reduce(sum, ak::Sum());
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    if (line.column(item) >= n) continue;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[item][i] *= scale;
    ak::store<HINT>(y + start + line.column(item), ak::narrow<scalar_t>(values[item]));
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS, AT_ONCE<THREADS>) softmax_in_block(const scalar_t* x, scalar_t* y, int n) {
  softmax<THREADS, WIDTH, ELEMENTS / WIDTH, false>(x, y, n);
}

template <int COUNT, int EACH>
__global__ void __launch_bounds__(COUNT, AT_ONCE<COUNT>) softmax_in_cluster(const scalar_t* x, scalar_t* y, int n) {
  softmax<COUNT, VEC, EACH / VEC, true>(x, y, n);
}

// One row a block, of any length; n % WIDTH == 0.
template <int WIDTH>
__global__ void __launch_bounds__(THREADS) softmax_again(const scalar_t* x, scalar_t* y, int n) {
  constexpr int kAtOnce = 4;
  const long long start = static_cast<long long>(blockIdx.x) * n;
  ak::Row<THREADS, 1, WIDTH, 1> line;
  float maximum = ak::minus_infinity();
  ak::for_each_vector<THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int column) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) maximum = column < n ? fmaxf(maximum, values[i]) : maximum;
  });
  maximum = line.reduce(maximum, ak::Maximum());
  float sum = 0.0f;
  ak::for_each_vector<THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int column) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum += column < n ? exp_of(values[i] - maximum) : 0.0f;
  });
  const float scale = 1.0f / line.reduce(sum, ak::Sum());
  ak::for_each_vector<THREADS, WIDTH, kAtOnce>(x + start, n, [&](float(&values)[WIDTH], int column) {
    if (column >= n) return;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[i] = exp_of(values[i] - maximum) * scale;
    ak::store<HINT>(y + start + column, ak::narrow<scalar_t>(values));
  });
}
