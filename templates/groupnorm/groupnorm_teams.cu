/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [256, 512, 1024], "default": 512},
    "SHARE_KB": {"values": [16, 32, 48, 64, 96], "default": 32},
    "STAGES": {"values": [2, 3], "default": 3},
    "BLOCKS_PER_SM": {"values": [1, 2], "default": 2},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"BLOCKS_PER_SM": 1, "CACHE": 0, "SHARE_KB": 48, "THREADS": 1024}
  ],
  "constraints": [
    "STAGES * SHARE_KB * BLOCKS_PER_SM <= 216",
    "THREADS * BLOCKS_PER_SM <= 1024"
  ],
  "let": {
    "VEC": "16 // sizeof_x",
    "LENGTH": "C // G * S",
    "ROWS": "B * G",
    "WIDTH": "VEC if S % VEC == 0 else 1",
    "BLOCKS": "SM_COUNT * BLOCKS_PER_SM",
    "TEAM": "ceil_div(LENGTH, SHARE_KB * 1024 // sizeof_x)",
    "SHARE": "round_up(ceil_div(LENGTH, TEAM), VEC)",
    "ON_CHIP": "TEAM <= min(BLOCKS, THREADS)",
    "TEAMS": "min(BLOCKS // TEAM, ROWS) if ON_CHIP else 0",
    "PARTS": "ceil_div(LENGTH, 65536)"
  },
  "workspace": [
    {"name": "known", "dtype": "int64", "count": "2 * ROWS * TEAM if ON_CHIP and TEAM > 1 else 0", "init": "zero"},
    {"name": "of_parts", "dtype": "float32", "count": "0 if ON_CHIP else 2 * ROWS * PARTS"}
  ],
  "launches": [
    {"kernel": "group_in_team<VEC>", "grid": ["TEAMS * TEAM"], "block": ["THREADS"], "shared_bytes": "STAGES * SHARE * sizeof_x", "cooperative": true, "when": "ON_CHIP and WIDTH > 1",
     "args": ["x", "weight", "bias", "epsilon", "y", "known", {"i32": "ROWS"}, {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}, {"i32": "TEAM"}, {"i32": "SHARE"}]},
    {"kernel": "group_in_team<1>", "grid": ["TEAMS * TEAM"], "block": ["THREADS"], "shared_bytes": "STAGES * SHARE * sizeof_x", "cooperative": true, "when": "ON_CHIP and WIDTH == 1",
     "args": ["x", "weight", "bias", "epsilon", "y", "known", {"i32": "ROWS"}, {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}, {"i32": "TEAM"}, {"i32": "SHARE"}]},
    {"kernel": "look_at_parts<VEC>", "grid": ["PARTS", "ROWS"], "block": ["THREADS"], "when": "not ON_CHIP and WIDTH > 1",
     "args": ["x", "of_parts", {"i32": "LENGTH"}]},
    {"kernel": "look_at_parts<1>", "grid": ["PARTS", "ROWS"], "block": ["THREADS"], "when": "not ON_CHIP and WIDTH == 1",
     "args": ["x", "of_parts", {"i32": "LENGTH"}]},
    {"kernel": "write_parts<VEC>", "grid": ["PARTS", "ROWS"], "block": ["THREADS"], "when": "not ON_CHIP and WIDTH > 1",
     "args": ["x", "weight", "bias", "epsilon", "y", "of_parts", {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}]},
    {"kernel": "write_parts<1>", "grid": ["PARTS", "ROWS"], "block": ["THREADS"], "when": "not ON_CHIP and WIDTH == 1",
     "args": ["x", "weight", "bias", "epsilon", "y", "of_parts", {"i32": "G"}, {"i32": "C // G"}, {"i32": "S"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = activation((x - mean) / sqrt(variance + epsilon) * weight + bias), mean and variance over the channels of a group
// and their places, which are neighbours in memory. A group lies in the shared memory of a team of blocks, up to all of
// the device, read once and written once whatever its size. Blocks stay and take group after group: while the team
// exchanges what its shares have of mean and squares, the next groups are on their way (STAGES). A thread copies, sums and
// writes the same elements, so that shared memory needs no barriers. Groups that all blocks together do not hold are read
// twice, by two launches.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/copies.cuh>
#include <ak/functions.cuh>
#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 512;
constexpr int STAGES = 3;
constexpr int BLOCKS_PER_SM = 2;
constexpr int CACHE = 1;
using scalar_t = float;
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));
constexpr int PART = 65536;  // as the plan says

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

  // Writes a vector at `column` of the group.
  template <int WIDTH>
  __device__ __forceinline__ void write(scalar_t* to, const ak::Pack<scalar_t, WIDTH>& pack, int column, float mean,
                                        float scale) const {
    const int channel = column / places;
    const float factor = scale * static_cast<float>(weight[channel]), shift = static_cast<float>(bias[channel]);
    float values[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[i] = activated((static_cast<float>(pack.value[i]) - mean) * factor + shift);
    ak::store<HINT>(to + column, ak::narrow<scalar_t>(values));
  }
};

// Mean of some numbers, and the sum of the squares of their distances from it.
struct Moments {
  float mean, squares;
};

// Of the `count` numbers that load(i) gives by vectors, all threads of the block.
template <int WIDTH, class Line, class Load>
__device__ __forceinline__ Moments moments_of(Line& line, int count, Load load) {
  float sum = 0.0f;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) * WIDTH; i < count; i += THREADS * WIDTH) sum += ak::sum_of(load(i));
  const float mean = line.reduce(sum, ak::Sum()) / static_cast<float>(max(count, 1));
  float squares = 0.0f;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) * WIDTH; i < count; i += THREADS * WIDTH) {
    const ak::Pack<scalar_t, WIDTH> pack = load(i);
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) {
      const float distance = static_cast<float>(pack.value[j]) - mean;
      squares += distance * distance;
    }
  }
  return {mean, line.reduce(squares, ak::Sum())};
}

// A number that other blocks wait for: its bits, and a flag above them, in a word that is zero before.
__device__ __forceinline__ void publish(ak::u64* word, float number) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(1ull << 32 | __float_as_uint(number)) : "memory");
}
__device__ __forceinline__ float wait_for(const ak::u64* word) {
  ak::u64 published;
  do {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(published) : "l"(word) : "memory");
  } while (published >> 32 == 0);
  return __uint_as_float(static_cast<ak::u32>(published));
}

// Moments of n numbers from those of their shares, which a thread each has; `own` numbers of this thread's share.
template <class Line>
__device__ __forceinline__ Moments join(Line& line, Moments share, float own, int n) {
  const float mean = line.reduce(own > 0.0f ? share.mean * own : 0.0f, ak::Sum()) / static_cast<float>(n);
  const float distance = share.mean - mean;
  return {mean, line.reduce(own > 0.0f ? share.squares + own * distance * distance : 0.0f, ak::Sum())};
}

// gridDim.x / team teams take the groups in turn, a block `share` numbers of each. known: two words a group and block.
template <int WIDTH>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    group_in_team(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight, const scalar_t* __restrict__ bias,
                  float epsilon, scalar_t* __restrict__ y, ak::u64* known, int rows, int groups, int channels, int places,
                  int team, int share) {
  extern __shared__ __align__(16) unsigned char memory[];
  scalar_t* stages = reinterpret_cast<scalar_t*>(memory);
  ak::Row<THREADS, 1, WIDTH, 1> line;
  const int thread = static_cast<int>(threadIdx.x), n = channels * places;
  const int teams = static_cast<int>(gridDim.x) / team, rank = static_cast<int>(blockIdx.x) % team;
  const int first_row = static_cast<int>(blockIdx.x) / team, first = rank * share, count = max(min(share, n - first), 0);
  const auto stage_of = [&](int step) { return stages + step % STAGES * share; };
  const auto fetch = [&](int step) {
    const long long row = first_row + static_cast<long long>(step) * teams;
    if (row < rows) {
      const scalar_t* from = x + row * n + first;
      scalar_t* to = stage_of(step);
      for (int i = thread * WIDTH; i < count; i += THREADS * WIDTH) {
        if constexpr (WIDTH == VEC) {
          ak::copy_async(ak::shared_address(to + i), from + i);
        } else {
          to[i] = from[i];
        }
      }
    }
    ak::commit_copies();
  };
  for (int step = 0; step < STAGES - 1; ++step) fetch(step);
  int step = 0;
  for (long long row = first_row; row < rows; row += teams, ++step) {
    fetch(step + STAGES - 1);
    ak::wait_copies<STAGES - 1>();
    const scalar_t* own = stage_of(step);
    const auto load = [&](int i) { return ak::load<WIDTH>(own + i); };
    Moments moments = moments_of<WIDTH>(line, count, load);
    if (team > 1) {
      ak::u64* words = known + row * team * 2;
      if (thread == 0) {
        publish(words + rank * 2, moments.mean);
        publish(words + rank * 2 + 1, moments.squares);
      }
      Moments theirs{0.0f, 0.0f};
      if (thread < team) theirs = {wait_for(words + thread * 2), wait_for(words + thread * 2 + 1)};
      const int counts = thread < team ? max(min(share, n - thread * share), 0) : 0;
      moments = join(line, theirs, static_cast<float>(counts), n);
    }
    const float scale = rsqrtf(moments.squares / static_cast<float>(n) + epsilon);
    const Channels of_group(weight, bias, static_cast<int>(row % groups), channels, places);
#pragma unroll 2
    for (int i = thread * WIDTH; i < count; i += THREADS * WIDTH) {
      of_group.write(y + row * n, load(i), first + i, moments.mean, scale);
    }
  }
}

// What each part of a group has, of PART numbers.
template <int WIDTH>
__global__ void __launch_bounds__(THREADS) look_at_parts(const scalar_t* __restrict__ x, float* of_parts, int n) {
  ak::Row<THREADS, 1, WIDTH, 1> line;
  const int first = static_cast<int>(blockIdx.x) * PART;
  const scalar_t* from = x + static_cast<long long>(blockIdx.y) * n + first;
  const Moments moments =
      moments_of<WIDTH>(line, min(PART, n - first), [&](int i) { return ak::load<WIDTH>(from + i); });
  float* to = of_parts + (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * 2;
  if (threadIdx.x == 0) {
    to[0] = moments.mean;
    to[1] = moments.squares;
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS)
    write_parts(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight, const scalar_t* __restrict__ bias,
                float epsilon, scalar_t* __restrict__ y, const float* __restrict__ of_parts, int groups, int channels,
                int places) {
  ak::Row<THREADS, 1, WIDTH, 1> line;
  const int thread = static_cast<int>(threadIdx.x), n = channels * places, parts = static_cast<int>(gridDim.x);
  const int row = static_cast<int>(blockIdx.y), first = static_cast<int>(blockIdx.x) * PART;
  const float* known = of_parts + static_cast<long long>(row) * parts * 2;
  const auto numbers = [&](int part) { return static_cast<float>(min(PART, n - part * PART)); };
  float sum = 0.0f;
  for (int part = thread; part < parts; part += THREADS) sum += known[part * 2] * numbers(part);
  const float mean = line.reduce(sum, ak::Sum()) / static_cast<float>(n);
  float squares = 0.0f;
  for (int part = thread; part < parts; part += THREADS) {
    const float distance = known[part * 2] - mean;
    squares += known[part * 2 + 1] + numbers(part) * distance * distance;
  }
  const float scale = rsqrtf(line.reduce(squares, ak::Sum()) / static_cast<float>(n) + epsilon);
  const Channels of_group(weight, bias, row % groups, channels, places);
  const scalar_t* from = x + static_cast<long long>(row) * n;
#pragma unroll 4
  for (int i = first + thread * WIDTH; i < min(n, first + PART); i += THREADS * WIDTH) {
    of_group.write(y + static_cast<long long>(row) * n, ak::load<WIDTH, HINT>(from + i), i, mean, scale);
  }
}
