/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [64, 128, 256, 512, 1024], "default": 512},
    "ELEMENTS": {"values": [8, 16, 32], "default": 32},
    "LONG_ELEMENTS": {"values": [16, 32], "default": 32},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"ELEMENTS": 16, "THREADS": 1024},
    {"CACHE": 0, "THREADS": 128},
    {"LONG_ELEMENTS": 16, "THREADS": 128}
  ],
  "constraints": ["THREADS * (ELEMENTS * (4 + sizeof_x) // 4 + 24) <= 65536"],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "LENGTH": "C // G * S",
    "WIDE": "S % VEC == 0",
    "CAPACITY": "THREADS * ELEMENTS",
    "PART": "512 * LONG_ELEMENTS",
    "CLUSTER": "2 if LENGTH <= 2 * PART else 4 if LENGTH <= 4 * PART else 8 if LENGTH <= 8 * PART else 16",
    "IN_PART": "WIDE and CAPACITY < LENGTH <= PART",
    "IN_CLUSTERS": "ARCH >= 90 and WIDE and max(CAPACITY, PART) < LENGTH <= PART * (16 if ARCH == 90 else 8)"
  },
  "launches": [
    {"kernel": "group_in_block<VEC>", "grid": ["B * G"], "block": ["THREADS"],
     "args": ["x", "weight", "bias", "epsilon", "y", {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}], "when": "LENGTH <= CAPACITY and WIDE"},
    {"kernel": "group_in_block<1>", "grid": ["B * G"], "block": ["THREADS"],
     "args": ["x", "weight", "bias", "epsilon", "y", {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}], "when": "LENGTH <= CAPACITY and not WIDE"},
    {"kernel": "group_in_cluster", "grid": ["B * G"], "block": [512],
     "args": ["x", "weight", "bias", "epsilon", "y", {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}], "when": "IN_PART"},
    {"kernel": "group_in_cluster", "grid": ["B * G * CLUSTER"], "block": [512], "cluster": ["CLUSTER"],
     "args": ["x", "weight", "bias", "epsilon", "y", {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}], "when": "IN_CLUSTERS"},
    {"kernel": "group_again<VEC>", "grid": ["B * G"], "block": [1024],
     "args": ["x", "weight", "bias", "epsilon", "y", {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}], "when": "LENGTH > CAPACITY and WIDE and not IN_PART and not IN_CLUSTERS"},
    {"kernel": "group_again<1>", "grid": ["B * G"], "block": [1024],
     "args": ["x", "weight", "bias", "epsilon", "y", {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}], "when": "LENGTH > CAPACITY and not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = activation((x - mean) / sqrt(variance + epsilon) * weight + bias), mean and variance over the channels of a group
// and their places. A group's numbers are neighbours in memory, so that it is a row: in the registers of a block, or of a
// cluster of up to 16 blocks, read once and written once. All numbers of a vector are of one channel. Without clusters,
// for groups beyond their 262144 numbers (131072 with LONG_ELEMENTS 16, half of that with clusters of 8), or where no vector
// divides the places of a channel, group_again reads a group three times, again from L2 while all groups
// under way fit it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 512;
constexpr int ELEMENTS = 32;
constexpr int LONG_ELEMENTS = 32;
constexpr int VEC_BYTES = 16;
constexpr int CACHE = 1;
using scalar_t = float;
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));
constexpr int LONG_THREADS = 512, AGAIN_THREADS = 1024;  // as the plan says

// Threads that an SM should hold, so that its groups overlap: 42 or 64 registers each.
constexpr int RESIDENT = ELEMENTS == 8 ? 1536 : 1024;
constexpr int BLOCKS_AT_ONCE = RESIDENT > THREADS ? RESIDENT / THREADS : 1;

// CACHE 1: evict-first hints, as numbers are touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

__device__ __forceinline__ float activated(float x) {
#ifdef AK_ACTIVATION_SILU
  return sizeof(scalar_t) == 2 ? ak::fast_silu(x) : x / (1.0f + expf(-x));
#else
  return x;
#endif
}

// Weight and bias of a group's channels, of `places` numbers each.
struct Channels {
  const scalar_t *weight, *bias;
  int places;

  __device__ __forceinline__ Channels(const scalar_t* all_weights, const scalar_t* all_biases, int group, int channels,
                                      int with_places)
      : weight(all_weights + static_cast<long long>(group) * channels),
        bias(all_biases + static_cast<long long>(group) * channels),
        places(with_places) {}

  // Writes a vector at `column` of the group, of numbers less their mean.
  template <int WIDTH>
  __device__ __forceinline__ void write(scalar_t* to, float (&values)[WIDTH], int column, float scale) const {
    const int channel = column / places;
    const float factor = scale * static_cast<float>(weight[channel]), shift = static_cast<float>(bias[channel]);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[i] = activated(values[i] * factor + shift);
    ak::store<HINT>(to + column, ak::narrow<scalar_t>(values));
  }
};

// The group is a row of n numbers, a multiple of WIDTH that its registers hold.
template <int BLOCK, int WIDTH, int ITEMS, bool CLUSTER>
__device__ __forceinline__ void normalise(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, float epsilon,
                                          scalar_t* y, int groups, int channels, int places) {
  ak::Row<BLOCK, 1, WIDTH, ITEMS, CLUSTER> line;
  const int n = channels * places, row = static_cast<int>(blockIdx.x) / line.blocks();
  const long long start = static_cast<long long>(row) * n;
  ak::Pack<scalar_t, WIDTH> packs[ITEMS];
  line.template read<HINT>(packs, x + start, n);
  line.begin();
  float values[ITEMS][WIDTH];
  ak::widen(values, packs);
  ak::subtract_mean(line, values, n, n);
  const float scale = rsqrtf(ak::sum_of_squares(line, values, n) / static_cast<float>(n) + epsilon);
  const Channels of_group(weight, bias, row % groups, channels, places);
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    if (line.column(item) < n) of_group.write(y + start, values[item], line.column(item), scale);
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS, BLOCKS_AT_ONCE)
    group_in_block(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, float epsilon, scalar_t* y,
                   int groups, int channels, int places) {
  normalise<THREADS, WIDTH, ELEMENTS / WIDTH, false>(x, weight, bias, epsilon, y, groups, channels, places);
}

// A group a cluster, which may be one block. Two blocks an SM, so that one reads while the other writes.
__global__ void __launch_bounds__(LONG_THREADS, 2)
    group_in_cluster(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, float epsilon, scalar_t* y,
                     int groups, int channels, int places) {
  normalise<LONG_THREADS, VEC, LONG_ELEMENTS / VEC, true>(x, weight, bias, epsilon, y, groups, channels, places);
}

// A group of any size a block; channels * places is a multiple of WIDTH.
template <int WIDTH>
__global__ void __launch_bounds__(AGAIN_THREADS)
    group_again(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, float epsilon, scalar_t* y, int groups,
                int channels, int places) {
  constexpr int kAtOnce = 4;
  const int n = channels * places, row = static_cast<int>(blockIdx.x);
  const long long start = static_cast<long long>(row) * n;
  ak::Row<AGAIN_THREADS, 1, WIDTH, 1> line;
  float sum = 0.0f;
  ak::for_each_vector<AGAIN_THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum += values[i];
  });
  const float mean = line.reduce(sum, ak::Sum()) / static_cast<float>(n);
  float squares = 0.0f;
  ak::for_each_vector<AGAIN_THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int column) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) squares += column < n ? (values[i] - mean) * (values[i] - mean) : 0.0f;
  });
  const float scale = rsqrtf(line.reduce(squares, ak::Sum()) / static_cast<float>(n) + epsilon);
  const Channels of_group(weight, bias, row % groups, channels, places);
  ak::for_each_vector<AGAIN_THREADS, WIDTH, kAtOnce>(x + start, n, [&](float(&values)[WIDTH], int column) {
    if (column >= n) return;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[i] -= mean;
    of_group.write(y + start, values, column, scale);
  });
}
