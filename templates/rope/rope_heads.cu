/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [32, 64, 128, 256, 512], "default": 128},
    "TOKENS": {"values": [1, 2, 4, 8], "default": 1},
    "HEADS": {"values": [1, 2, 4, 8], "default": 2},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "starts": [
    {"HEADS": 4, "THREADS": 64, "VEC_BYTES": 8},
    {"THREADS": 256, "VEC_BYTES": 8},
    {"CACHE": 0, "HEADS": 1, "THREADS": 32, "TOKENS": 2}
  ],
  "constraints": [
    "64 <= THREADS * TOKENS <= 1024",
    "HEADS * VEC_BYTES <= 64",
    "THREADS % (head_dim // (2 * (VEC_BYTES // sizeof_q))) == 0"
  ],
  "launches": [
    {"kernel": "rotate_heads", "grid": ["ceil_div(T, TOKENS)", "ceil_div(HQ + HK, THREADS * 2 * (VEC_BYTES // sizeof_q) * HEADS // head_dim)"], "block": ["THREADS", "TOKENS"],
     "args": ["q", "k", "cos_sin", "positions", "q_out", "k_out", {"i32": "T"}, {"i32": "HQ"}, {"i32": "HK"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rotary embedding of queries and keys: the first rotary_dim elements of a head turn in pairs, the others are copied.
//
//   a token's heads of q, then of k; a head: vectors 0 .. V - 1 and V .. 2V - 1
//   thread: vectors v and v + V of every STEP-th head, so that it needs the same angles for all of them
//
// Pairs are (i, i + rotary_dim / 2), or neighbours. Angles are read once a thread and token, through L1, after the heads'
// own loads are under way; HEADS heads of two vectors are.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 128;
constexpr int TOKENS = 1;
constexpr int HEADS = 2;
constexpr int VEC_BYTES = 16;
constexpr int CACHE = 1;
constexpr int HEAD_DIM = 128;
constexpr int ROTARY_DIM = 128;
using scalar_t = float;
#define AK_STYLE_NEOX 1
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));
constexpr int LANES = HEAD_DIM / (2 * VEC);   // threads of a head
constexpr int STEP = THREADS / LANES;         // heads of a block at a time
constexpr int HALF = ROTARY_DIM / 2;          // pairs
static_assert(THREADS % LANES == 0 && HALF % VEC == 0, "vectors are turned whole");

#ifdef AK_STYLE_INTERLEAVED
constexpr bool INTERLEAVED = true;
#else
constexpr bool INTERLEAVED = false;
#endif

// CACHE 1: evict-first hints, as every element is touched once. Angles are read by every head.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
using Pack = ak::Pack<scalar_t, VEC>;

// Turns the pair (first, second).
__device__ __forceinline__ void turn(scalar_t& first, scalar_t& second, float cosine, float sine) {
  const float a = static_cast<float>(first), b = static_cast<float>(second);
  first = static_cast<scalar_t>(a * cosine - b * sine);
  second = static_cast<scalar_t>(b * cosine + a * sine);
}

// Where a thread's two vectors begin in a head: both of what turns, or both of what is copied. Lanes that are neighbours
// have neighbours of each.
struct Place {
  int first, second;
  bool turned;

  __device__ __forceinline__ explicit Place(int lane) {
    constexpr int kTurned = HALF / VEC;  // lanes whose vectors turn
    turned = lane < kTurned;
    first = turned ? lane * VEC : ROTARY_DIM + (lane - kTurned) * VEC;
    second = first + (turned ? HALF : HEAD_DIM / 2 - HALF);
  }
};

// Cosines and sines of a thread's VEC pairs.
struct Angles {
  float cosines[VEC], sines[VEC];

  // table: cosines of all pairs at a position, then sines.
  __device__ __forceinline__ void read(const float* table, int lane) {
    constexpr int kRun = INTERLEAVED ? VEC / 2 : VEC;  // pairs in a row; interleaved, the second vector has others
    constexpr int kAtOnce = kRun < 4 ? kRun : 4;
#pragma unroll
    for (int i = 0; i < VEC; i += kAtOnce) {
      const int pair = lane * kRun + i / kRun * (HALF / 2) + i % kRun;
      const auto some_cosines = ak::load<kAtOnce, ak::Cache::read_only>(table + pair);
      const auto some_sines = ak::load<kAtOnce, ak::Cache::read_only>(table + HALF + pair);
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) {
        cosines[i + e] = some_cosines.value[e];
        sines[i + e] = some_sines.value[e];
      }
    }
  }
  __device__ __forceinline__ void apply(Pack& first, Pack& second) const {
    if constexpr (INTERLEAVED) {
#pragma unroll
      for (int i = 0; i < VEC / 2; ++i) {
        turn(first.value[2 * i], first.value[2 * i + 1], cosines[i], sines[i]);
        turn(second.value[2 * i], second.value[2 * i + 1], cosines[VEC / 2 + i], sines[VEC / 2 + i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < VEC; ++i) turn(first.value[i], second.value[i], cosines[i], sines[i]);
    }
  }
};

__global__ void __launch_bounds__(THREADS* TOKENS)
    rotate_heads(const scalar_t* q, const scalar_t* k, const float* cos_sin, const int* positions, scalar_t* q_out,
                 scalar_t* k_out, int tokens, int q_heads, int k_heads) {
  const long long token = static_cast<long long>(blockIdx.x) * TOKENS + threadIdx.y;
  if (token >= tokens) return;
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  const int head = static_cast<int>(blockIdx.y) * STEP * HEADS + static_cast<int>(threadIdx.x) / LANES;
  const Place place(lane);
  // Offset of a head in q, or in k from where q ends.
  const auto at = [&](int h) {
    return h < q_heads ? (token * q_heads + h) * HEAD_DIM : (token * k_heads + h - q_heads) * HEAD_DIM;
  };
  Pack first[HEADS], second[HEADS];
#pragma unroll
  for (int i = 0; i < HEADS; ++i) {
    const int h = head + i * STEP;
    if (h >= q_heads + k_heads) continue;
    const scalar_t* from = (h < q_heads ? q : k) + at(h);
    first[i] = ak::load<VEC, HINT>(from + place.first);
    second[i] = ak::load<VEC, HINT>(from + place.second);
  }
  Angles angles;
  if (place.turned) angles.read(cos_sin + static_cast<long long>(positions[token]) * ROTARY_DIM, lane);
#pragma unroll
  for (int i = 0; i < HEADS; ++i) {
    const int h = head + i * STEP;
    if (h >= q_heads + k_heads) continue;
    if (place.turned) angles.apply(first[i], second[i]);
    scalar_t* to = (h < q_heads ? q_out : k_out) + at(h);
    ak::store<HINT>(to + place.first, first[i]);
    ak::store<HINT>(to + place.second, second[i]);
  }
}
