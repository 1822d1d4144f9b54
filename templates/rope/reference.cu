/* alphakernel
{
  "launches": [
    {"kernel": "rope_reference<out_t_q_out>", "grid": ["T"], "block": [128],
     "args": ["q", "cos_sin", "positions", "q_out", {"i32": "HQ"}]},
    {"kernel": "rope_reference<out_t_k_out>", "grid": ["T"], "block": [128],
     "args": ["k", "cos_sin", "positions", "k_out", {"i32": "HK"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Turns pairs of a head by the angles of its token's position, one pair a thread at a time; copies what is behind them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t_q_out = double;
using out_t_k_out = double;
constexpr int HEAD_DIM = 128;
constexpr int ROTARY_DIM = 128;
#define AK_STYLE_NEOX 1
#endif

__device__ accum_t read(const scalar_t* x, int i) {
  float value = static_cast<float>(x[i]);
#ifdef AK_MUTATION_LOW_PRECISION
  value = __uint_as_float(__float_as_uint(value) & 0xfff00000u);  // sign, exponent, 3 bits of mantissa
#endif
#ifdef AK_MUTATION_NO_NAN
  value = fminf(fmaxf(value, -65504.0f), 65504.0f);
#endif
  return static_cast<accum_t>(value);
}

template <class Out>
__global__ void rope_reference(const scalar_t* x, const float* cos_sin, const int* positions, Out* y, int heads) {
#if defined(AK_MUTATION_FIRST_POSITION)
  const float* table = cos_sin + static_cast<long long>(positions[0]) * ROTARY_DIM;
#elif defined(AK_MUTATION_SHORT_POSITIONS)
  const float* table = cos_sin + static_cast<long long>(positions[blockIdx.x] % 1024) * ROTARY_DIM;
#else
  const float* table = cos_sin + static_cast<long long>(positions[blockIdx.x]) * ROTARY_DIM;
#endif
  constexpr int kHalf = ROTARY_DIM / 2;
  for (int head = 0; head < heads; ++head) {
    const long long start = (static_cast<long long>(blockIdx.x) * heads + head) * HEAD_DIM;
    for (int pair = threadIdx.x; pair < kHalf; pair += blockDim.x) {
#if defined(AK_STYLE_INTERLEAVED) != defined(AK_MUTATION_OTHER_STYLE)
      const int first = 2 * pair, second = first + 1;
#else
      const int first = pair, second = pair + kHalf;
#endif
      const accum_t a = read(x + start, first), b = read(x + start, second);
#ifdef AK_MUTATION_SWAPPED_TABLE
      const accum_t sine = table[pair], cosine = table[kHalf + pair];
#else
      const accum_t cosine = table[pair], sine = table[kHalf + pair];
#endif
#ifdef AK_MUTATION_BACKWARDS
      y[start + first] = static_cast<Out>(a * cosine + b * sine);
      y[start + second] = static_cast<Out>(b * cosine - a * sine);
#else
      y[start + first] = static_cast<Out>(a * cosine - b * sine);
      y[start + second] = static_cast<Out>(b * cosine + a * sine);
#endif
    }
    for (int i = ROTARY_DIM + threadIdx.x; i < HEAD_DIM; i += blockDim.x) {
#ifdef AK_MUTATION_NO_COPY
      y[start + i] = static_cast<Out>(0.0f);
#elif defined(AK_MUTATION_TURNED_BY_0)
      y[start + i] = static_cast<Out>(static_cast<float>(x[start + i]) - 0.0f * static_cast<float>(x[start + (i ^ 1)]));
#else
      y[start + i] = static_cast<Out>(static_cast<float>(x[start + i]));
#endif
    }
  }
}
