/* alphakernel
{
  "tunables": {
    "LANES": {"values": [1, 2, 4, 8, 16], "default": 4},
    "THREADS": {"values": [64, 128, 256], "default": 128},
    "STEPS": {"values": [16, 32, 64, 128], "default": 32},
    "CACHE": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [1, 2, 4], "default": 2}
  },
  "constraints": [
    "STEPS // LANES >= VEC",
    "STEPS // LANES <= (4 if LANES == 1 else 2) * VEC",
    "state // LANES <= 16",
    "2 * state * STEPS // VEC <= 8 * THREADS",
    "SHARED <= SHARED_BYTES_PER_BLOCK",
    "THREADS * BLOCKS_PER_SM * (4 * (state // LANES) + 20 * (STEPS // LANES // VEC) + 4 * ceil_div(2 * state * STEPS // VEC, THREADS) + 40) <= 65536"
  ],
  "let": {
    "VEC": "16 // sizeof_u",
    "CHANNELS": "THREADS // LANES",
    "SHARED": "4 * (3 * CHANNELS * (STEPS + 4) + STEPS * (2 * state + 4))",
    "BLOCKS": "ceil_div(D // G, CHANNELS)"
  },
  "launches": [
    {"kernel": "selective_scan<true>", "grid": ["BLOCKS * G * B"], "block": ["THREADS"], "shared_bytes": "SHARED", "when": "L % VEC == 0",
     "args": ["u", "delta", "a", "b", "c", "skip", "bias", {"optional": "z"}, "y", "last", {"i32": "D // G"}, {"i32": "L"}, {"i32": "G"}, {"i32": "BLOCKS"}]},
    {"kernel": "selective_scan<false>", "grid": ["BLOCKS * G * B"], "block": ["THREADS"], "shared_bytes": "SHARED", "when": "L % VEC != 0",
     "args": ["u", "delta", "a", "b", "c", "skip", "bias", {"optional": "z"}, "y", "last", {"i32": "D // G"}, {"i32": "L"}, {"i32": "G"}, {"i32": "BLOCKS"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The selective scan, one step after the other: LANES neighbouring threads have the states of a channel in registers.
//
//   u, delta, z: rows of L        ─► registers of whoever reads them ─► step sizes t and t u ─► shared memory [channel][step]
//   b, c: rows of L, S of each    ─► registers                       ─► fp32 in shared memory   [step][b of all S | c]
//   LANES threads a channel: h = 2^(t a) h + t u b, sum of c h       ─► shared memory [channel][step] ─► gate ─► y
//
// Tiles of STEPS steps: the next one is on its way to registers while this one is computed. Exponentials and the bias are
// the work of whoever read an element, once; only 2^(t a) is needed for each state. Sums over the lanes of a channel are
// made for four steps at a time, by halves, so that lanes end with sums of different steps.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/threads.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 4;
constexpr int THREADS = 128;
constexpr int STEPS = 32;
constexpr int CACHE = 1;
constexpr int BLOCKS_PER_SM = 2;
constexpr int STATE = 16;
using scalar_t = __nv_bfloat16;
#define AK_GATE 1
#endif

constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));
constexpr int CHANNELS = THREADS / LANES;             // of a block
constexpr int HELD = STATE / LANES;                   // states of a thread
constexpr int ROW_PACKS = STEPS / VEC;                // of a row in a tile
constexpr int PACKS = STEPS / LANES / VEC;            // of each of u, delta and z, a thread
constexpr int SHARED_PACKS = (2 * STATE * ROW_PACKS + THREADS - 1) / THREADS;  // of b and c, a thread
constexpr int PITCH = STEPS + 4;                      // floats of a channel: rows begin 4 banks apart
constexpr int SHARED_PITCH = 2 * STATE + 4;           // floats of a step of b and c

// CACHE 1: evict-first hints for what is touched once; b and c are read by every block of a group.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
using Pack = ak::Pack<scalar_t, VEC>;

// The pack of a row that begins at step l, zeros past the last step. WIDE: rows are multiples of packs.
template <bool WIDE, ak::Cache FROM>
__device__ __forceinline__ Pack read(const scalar_t* row, int l, int steps) {
  if constexpr (WIDE) {
    if (l < steps) return ak::load<VEC, FROM>(row + l);
  }
  Pack pack;
#pragma unroll
  for (int i = 0; i < VEC; ++i) pack.value[i] = !WIDE && l + i < steps ? row[l + i] : static_cast<scalar_t>(0.0f);
  return pack;
}

template <bool WIDE>
__device__ __forceinline__ void write(scalar_t* row, int l, int steps, const Pack& pack) {
  if (WIDE && l < steps) ak::store<HINT>(row + l, pack);
  if constexpr (!WIDE) {
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      if (l + i < steps) row[l + i] = pack.value[i];
    }
  }
}

// log(1 + e^x); a short logarithm is good for 16 bits where e^-|x| is not lost next to 1.
__device__ __forceinline__ float softplus(float x) {
  if constexpr (sizeof(scalar_t) == 4) return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
  const float e = __expf(-fabsf(x));
  return fmaxf(x, 0.0f) + (e < 0.015625f ? e * (1.0f - e * (0.5f - e * 0.33333333f)) : __logf(1.0f + e));
}

__device__ __forceinline__ float gate(float z) { return sizeof(scalar_t) == 4 ? ak::silu(z) : ak::fast_silu(z); }

// COUNT neighbouring floats of shared memory, aligned to as many or to four.
template <int COUNT>
__device__ __forceinline__ void fetch(float (&to)[COUNT], const float* from) {
  constexpr int kAtOnce = COUNT < 4 ? COUNT : 4;
#pragma unroll
  for (int i = 0; i < COUNT; i += kAtOnce) {
    const auto pack = ak::load<kAtOnce>(from + i);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) to[i + k] = pack.value[k];
  }
}

struct Tile {
  float *sizes, *inputs, *sums;  // [CHANNELS][PITCH]: t, t u, and what is read of the states
  float* shared;                 // [STEPS][SHARED_PITCH]: b of all states, then c
};

// Elements of u, delta and z: a thread's packs p of channel `channel(p)`, from step `step(p)` of a tile on.
struct Rows {
  static __device__ __forceinline__ int channel(int p) { return (static_cast<int>(threadIdx.x) + p * THREADS) / ROW_PACKS; }
  static __device__ __forceinline__ int step(int p) { return (static_cast<int>(threadIdx.x) + p * THREADS) % ROW_PACKS * VEC; }

  // The packs of the tile that begins at step l; of channels from `channels` on zeros. base: of the block's first row.
  template <bool WIDE>
  static __device__ __forceinline__ void read_tile(Pack (&packs)[PACKS], const scalar_t* base, int channels, int l, int steps) {
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
      const int row = channel(p);
      packs[p] = read<WIDE, HINT>(base + static_cast<long long>(row) * steps, l + step(p), row < channels ? steps : 0);
    }
  }
};

// Rows of b and c: pack p of a thread is of state `row(p)` of b, or of c behind them.
struct SharedRows {
  static __device__ __forceinline__ int row(int p) { return (static_cast<int>(threadIdx.x) + p * THREADS) / ROW_PACKS; }
  static __device__ __forceinline__ int step(int p) { return (static_cast<int>(threadIdx.x) + p * THREADS) % ROW_PACKS * VEC; }

  template <bool WIDE>
  static __device__ __forceinline__ void read_tile(Pack (&packs)[SHARED_PACKS], const scalar_t* b, const scalar_t* c, int l,
                                                   int steps) {
#pragma unroll
    for (int p = 0; p < SHARED_PACKS; ++p) {
      const int r = row(p);
      const scalar_t* from = r < STATE ? b + static_cast<long long>(r) * steps : c + static_cast<long long>(r - STATE) * steps;
      packs[p] = read<WIDE, ak::Cache::read_only>(from, l + step(p), r < 2 * STATE ? steps : 0);
    }
  }
  static __device__ __forceinline__ void store_tile(const Tile& tile, const Pack (&packs)[SHARED_PACKS]) {
#pragma unroll
    for (int p = 0; p < SHARED_PACKS; ++p) {
      if (row(p) >= 2 * STATE) continue;
#pragma unroll
      for (int i = 0; i < VEC; ++i) {
        tile.shared[(step(p) + i) * SHARED_PITCH + row(p)] = static_cast<float>(packs[p].value[i]);
      }
    }
  }
};

// A thread's states, and the rates 2^(t rate) at which they fade.
struct States {
  float h[HELD], rates[HELD];

  __device__ __forceinline__ void begin(const float* a) {
    fetch(rates, a);
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
      rates[k] *= 1.4426950408889634f;  // log2(e)
      h[k] = 0.0f;
    }
  }
  // One step: b and c of this thread's states. Returns its part of the result.
  __device__ __forceinline__ float step(float size, float input, const float* b, const float* c) {
    float with[HELD], read[HELD], sum = 0.0f;
    fetch(with, b);
    fetch(read, c);
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
      h[k] = ak::fast_exp2(size * rates[k]) * h[k] + input * with[k];
      sum += h[k] * read[k];
    }
    return sum;
  }
};

// Adds four sums over the LANES lanes of a channel, and stores them at `to`; lane q ends with those from 4 q / LANES on.
__device__ __forceinline__ void add_and_store(float* to, float (&sums)[4], int lane) {
  int count = 4;
#pragma unroll
  for (int width = LANES / 2; width >= 1; width /= 2) {
    if (count == 1) {
      sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], width);
      continue;
    }
    count /= 2;
    const bool upper = lane & width;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const float given = upper ? sums[i] : sums[i + count], kept = upper ? sums[i + count] : sums[i];
      sums[i] = kept + __shfl_xor_sync(0xffffffffu, given, width);
    }
  }
  constexpr int kEnd = LANES < 4 ? 4 / LANES : 1;  // sums that a lane ends with
  if (LANES > 4 && lane % (LANES / 4 > 0 ? LANES / 4 : 1) != 0) return;
  ak::Pack<float, kEnd> pack;
#pragma unroll
  for (int i = 0; i < kEnd; ++i) pack.value[i] = sums[i];
  ak::store(to + lane * 4 / LANES, pack);
}

// The steps of a tile, for this thread's states.
__device__ __forceinline__ void scan(const Tile& tile, States& states) {
  const int channel = static_cast<int>(threadIdx.x) / LANES, lane = static_cast<int>(threadIdx.x) % LANES;
  const float* shared = tile.shared + lane * HELD;
#pragma unroll 2
  for (int l = 0; l < STEPS; l += 4) {
    float sizes[4], inputs[4], sums[4];
    fetch(sizes, tile.sizes + channel * PITCH + l);
    fetch(inputs, tile.inputs + channel * PITCH + l);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* at = shared + (l + i) * SHARED_PITCH;
      sums[i] = states.step(sizes[i], inputs[i], at, at + STATE);
    }
    add_and_store(tile.sums + channel * PITCH + l, sums, lane);
  }
}

// Step sizes and inputs of a thread's packs, to shared memory; a step past the last has size 0, so that states stay.
__device__ __forceinline__ void store_steps(const Tile& tile, const Pack (&u)[PACKS], const Pack (&delta)[PACKS],
                                            const float (&bias)[PACKS], int left) {
#pragma unroll
  for (int p = 0; p < PACKS; ++p) {
    const int at = Rows::channel(p) * PITCH + Rows::step(p);
#pragma unroll
    for (int i = 0; i < VEC; i += 4) {
      ak::Pack<float, 4> sizes, inputs;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const bool inside = Rows::step(p) + i + k < left;
        sizes.value[k] = inside ? softplus(static_cast<float>(delta[p].value[i + k]) + bias[p]) : 0.0f;
        inputs.value[k] = sizes.value[k] * static_cast<float>(u[p].value[i + k]);
      }
      ak::store(tile.sizes + at + i, sizes);
      ak::store(tile.inputs + at + i, inputs);
    }
  }
}

// Results of a thread's packs, from the sums of their channels.
template <bool WIDE>
__device__ __forceinline__ void write_results(const Tile& tile, scalar_t* y, const Pack (&u)[PACKS], const Pack (&z)[PACKS],
                                              const float (&skip)[PACKS], int channels, int l, int steps) {
#pragma unroll
  for (int p = 0; p < PACKS; ++p) {
    const int row = Rows::channel(p);
    float sums[VEC];
    fetch(sums, tile.sums + row * PITCH + Rows::step(p));
    Pack results;
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      float result = sums[i] + skip[p] * static_cast<float>(u[p].value[i]);
#if AK_GATE
      result *= gate(static_cast<float>(z[p].value[i]));
#endif
      results.value[i] = static_cast<scalar_t>(result);
    }
    write<WIDE>(y + static_cast<long long>(row) * steps, l + Rows::step(p), row < channels ? steps : 0, results);
  }
}

// A block: CHANNELS channels of one group of one sequence. in_group: channels of a group; blocks: of a group.
template <bool WIDE>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    selective_scan(const scalar_t* u, const scalar_t* delta, const float* a, const scalar_t* b, const scalar_t* c,
                   const float* skip, const float* bias, const scalar_t* z, scalar_t* y, float* last, int in_group,
                   int steps, int groups, int blocks) {
  extern __shared__ __align__(16) float memory[];
  const Tile tile = {memory, memory + CHANNELS * PITCH, memory + 2 * CHANNELS * PITCH, memory + 3 * CHANNELS * PITCH};

  const long long group = blockIdx.x / blocks;  // of all sequences
  const int within = static_cast<int>(blockIdx.x % blocks) * CHANNELS, channels = in_group - within;
  const int first = static_cast<int>(group % groups) * in_group + within;  // channel
  const long long first_row = group * in_group + within, rows = first_row * steps;
  b += group * STATE * steps;
  c += group * STATE * steps;

  Pack next_u[PACKS], next_delta[PACKS], next_z[PACKS], next_shared[SHARED_PACKS];
  const auto read_tile = [&](int l) {
    Rows::read_tile<WIDE>(next_u, u + rows, channels, l, steps);
    Rows::read_tile<WIDE>(next_delta, delta + rows, channels, l, steps);
#if AK_GATE
    Rows::read_tile<WIDE>(next_z, z + rows, channels, l, steps);
#endif
    SharedRows::read_tile<WIDE>(next_shared, b, c, l, steps);
  };
  read_tile(0);

  const int mine = static_cast<int>(threadIdx.x) / LANES, lane = static_cast<int>(threadIdx.x) % LANES;
  States states;
  states.begin(a + static_cast<long long>(first + min(mine, channels - 1)) * STATE + lane * HELD);
  float biases[PACKS], skips[PACKS];
#pragma unroll
  for (int p = 0; p < PACKS; ++p) {
    biases[p] = bias[first + min(Rows::channel(p), channels - 1)];
    skips[p] = skip[first + min(Rows::channel(p), channels - 1)];
  }

  for (int l = 0; l < steps; l += STEPS) {
    Pack this_u[PACKS], this_z[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
      this_u[p] = next_u[p];
#if AK_GATE
      this_z[p] = next_z[p];
#endif
    }
    store_steps(tile, next_u, next_delta, biases, steps - l);
    SharedRows::store_tile(tile, next_shared);
    __syncthreads();
    if (l + STEPS < steps) read_tile(l + STEPS);
    scan(tile, states);
    __syncthreads();
    write_results<WIDE>(tile, y + rows, this_u, this_z, skips, channels, l, steps);
  }
  if (mine >= channels) return;
#pragma unroll
  for (int k = 0; k < HELD; ++k) last[(first_row + mine) * STATE + lane * HELD + k] = states.h[k];
}
