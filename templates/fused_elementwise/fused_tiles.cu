/* alphakernel
{
  "tunables": {
    "BLOCK": {"values": [64, 128, 256, 512, 1024], "default": 256},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "UNROLL": {"values": [1, 2, 4, 8], "default": 2},
    "CACHE": {"values": [0, 1], "default": 1},
    "FAST": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [0, 1, 2, 4, 8], "default": 0}
  },
  "starts": [
    {"BLOCK": 64, "CACHE": 0},
    {"BLOCK": 512, "CACHE": 0, "UNROLL": 1, "VEC_BYTES": 8}
  ],
  "constraints": [
    "VEC_BYTES >= 4 * sizeof_x or dropout == 'none'",
    "BLOCK * max(BLOCKS_PER_SM, 1) <= 2048",
    "BLOCK * max(BLOCKS_PER_SM, 1) * (UNROLL * VEC_BYTES * (1 if residual == 'none' else 2) // 4 + 32) <= 65536"
  ],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "WIDE": "N % VEC == 0",
    "TILES": "ceil_div(M * N, BLOCK * UNROLL * VEC)",
    "BLOCKS": "min(TILES, SM_COUNT * BLOCKS_PER_SM) if BLOCKS_PER_SM else TILES"
  },
  "launches": [
    {"kernel": "fused<VEC>", "grid": ["BLOCKS"], "block": ["BLOCK"],
     "args": ["x", {"optional": "b"}, {"optional": "r"}, {"optional": "seed"}, {"optional": "p"}, {"optional": "factor"}, {"optional": "low"}, {"optional": "high"}, {"optional": "y_scale"}, "y", {"i32": "M * N // VEC"}, {"i32": "N // VEC"}], "when": "WIDE"},
    {"kernel": "fused<1>", "grid": ["ceil_div(M * N, BLOCK * UNROLL)"], "block": ["BLOCK"],
     "args": ["x", {"optional": "b"}, {"optional": "r"}, {"optional": "seed"}, {"optional": "p"}, {"optional": "factor"}, {"optional": "low"}, {"optional": "high"}, {"optional": "y_scale"}, "y", {"i32": "M * N"}, {"i32": "N"}], "when": "not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A chain of operators on every element, each where the problem has it, in float32 and rounded once:
//
//   x ─► + bias ─► activation ─► * factor ─► dropout ─► + residual ─► clamp ─► cast ─► y
//
// A tile is BLOCK * UNROLL vectors: every thread first issues all of its loads. Random numbers are made four at a time.
// With BLOCKS_PER_SM > 0 blocks stay and take tiles in turn. FAST takes the hardware's exponential.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/narrow.cuh>
#include <ak/philox.cuh>
#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 256;
constexpr int VEC_BYTES = 16;
constexpr int UNROLL = 2;
constexpr int CACHE = 1;
constexpr int FAST = 1;
constexpr int BLOCKS_PER_SM = 0;
using scalar_t = float;
#define AK_STORE_SAME 1
#define AK_ACTIVATION_SILU 1
#define AK_BIAS_COLUMNS 1
#define AK_RESIDUAL_ADDED 1
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));

// CACHE 1: evict-first hints, as elements are touched once. A bias is read by every row.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;
template <int COUNT>
using Pack = ak::Pack<scalar_t, COUNT>;

// Operators that there are.
#ifdef AK_BIAS_COLUMNS
constexpr bool HAS_BIAS = true;
#else
constexpr bool HAS_BIAS = false;
#endif
#ifdef AK_SCALE_FACTOR
constexpr bool HAS_FACTOR = true;
#else
constexpr bool HAS_FACTOR = false;
#endif
#ifdef AK_DROPOUT_PHILOX
constexpr bool HAS_DROPOUT = true;
#else
constexpr bool HAS_DROPOUT = false;
#endif
#ifdef AK_RESIDUAL_ADDED
constexpr bool HAS_RESIDUAL = true;
#else
constexpr bool HAS_RESIDUAL = false;
#endif
#ifdef AK_CLAMP_BOTH
constexpr bool HAS_CLAMP = true;
#else
constexpr bool HAS_CLAMP = false;
#endif

#if defined(AK_STORE_SAME)
using result_t = scalar_t;
#elif defined(AK_STORE_FLOAT32)
using result_t = float;
#else
using result_t = unsigned char;
#endif
#if defined(AK_STORE_INT8)
using Code = ak::s8;
#else
using Code = ak::e4m3;
#endif

__device__ __forceinline__ float activated(float x) {
#if defined(AK_ACTIVATION_RELU)
  return ak::relu(x);
#elif defined(AK_ACTIVATION_GELU)
  return FAST == 1 && sizeof(scalar_t) == 2 && sizeof(result_t) <= 2 ? ak::gelu_to_16_bits(x) : ak::gelu(x);
#elif defined(AK_ACTIVATION_GELU_TANH)
  return FAST == 1 ? ak::fast_gelu_tanh(x) : ak::gelu_tanh(x);
#elif defined(AK_ACTIVATION_SILU)
  return FAST == 1 ? ak::fast_silu(x) : x / (1.0f + expf(-x));
#else
  return x;
#endif
}

struct Chain {
  float factor, low, high, inverse;
  ak::Dropout dropout;

  __device__ __forceinline__ Chain(const long long* seed, const float* p, const float* with_factor, const float* with_low,
                                   const float* with_high, const float* y_scale)
      : factor(HAS_FACTOR ? *with_factor : 1.0f),
        low(HAS_CLAMP ? *with_low : 0.0f),
        high(HAS_CLAMP ? *with_high : 0.0f),
        inverse(y_scale == nullptr ? 1.0f : 1.0f / *y_scale),
        dropout(HAS_DROPOUT ? static_cast<unsigned long long>(*seed) : 0, HAS_DROPOUT ? *p : 0.0f) {}

  // Results of the vector at index `at` of the whole tensor.
  template <int COUNT>
  __device__ __forceinline__ void apply(float (&values)[COUNT], const Pack<COUNT>& biases, const Pack<COUNT>& residuals,
                                        long long at) const {
    bool stay[COUNT];
    if constexpr (HAS_DROPOUT) dropout.choose(stay, static_cast<unsigned long long>(at));
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      float value = values[i];
      if constexpr (HAS_BIAS) value += static_cast<float>(biases.value[i]);
      value = activated(value);
      if constexpr (HAS_FACTOR) value *= factor;
      if constexpr (HAS_DROPOUT) value = stay[i] ? value * dropout.scale : 0.0f;
      if constexpr (HAS_RESIDUAL) value += static_cast<float>(residuals.value[i]);
      if constexpr (HAS_CLAMP) value = fminf(fmaxf(value, low), high);
      values[i] = value;
    }
  }
};

template <int COUNT>
__device__ __forceinline__ void store(result_t* to, const float (&values)[COUNT], float inverse) {
  if constexpr (sizeof(result_t) == 1) {
    ak::store<HINT>(to, ak::quantise<Code>(values, inverse));
  } else if constexpr (sizeof(result_t) * COUNT <= 16) {
    ak::store<HINT>(to, ak::narrow<result_t>(values));
  } else {  // 16-bit elements as float32: two vectors
#pragma unroll
    for (int half = 0; half < COUNT; half += COUNT / 2) {
      ak::Pack<result_t, COUNT / 2> pack;
#pragma unroll
      for (int i = 0; i < COUNT / 2; ++i) pack.value[i] = static_cast<result_t>(values[half + i]);
      ak::store<HINT>(to + half, pack);
    }
  }
}

// `vectors` vectors of COUNT elements, `across` a row.
template <int COUNT>
__global__ void __launch_bounds__(BLOCK)
    fused(const scalar_t* x, const scalar_t* b, const scalar_t* r, const long long* seed, const float* p,
          const float* factor, const float* low, const float* high, const float* y_scale, result_t* y, int vectors,
          int across) {
  const Chain chain(seed, p, factor, low, high, y_scale);
  const unsigned int end = static_cast<unsigned int>(vectors), step = gridDim.x * BLOCK * UNROLL;
  for (unsigned int first = blockIdx.x * BLOCK * UNROLL + threadIdx.x; first < end; first += step) {
    Pack<COUNT> packs[UNROLL], residuals[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const unsigned int vector = first + u * BLOCK;
      if (vector >= end) continue;
      packs[u] = ak::load<COUNT, HINT>(x + static_cast<long long>(vector) * COUNT);
      if constexpr (HAS_RESIDUAL) residuals[u] = ak::load<COUNT, HINT>(r + static_cast<long long>(vector) * COUNT);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const unsigned int vector = first + u * BLOCK;
      if (vector >= end) continue;
      const long long at = static_cast<long long>(vector) * COUNT;
      Pack<COUNT> biases;
      if constexpr (HAS_BIAS) biases = ak::load<COUNT, ak::Cache::read_only>(b + vector % across * COUNT);
      float values[COUNT];
#pragma unroll
      for (int i = 0; i < COUNT; ++i) values[i] = static_cast<float>(packs[u].value[i]);
      chain.apply(values, biases, residuals[u], at);
      store(y + at, values, chain.inverse);
    }
  }
}
