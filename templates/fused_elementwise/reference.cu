/* alphakernel
{
  "launches": [
    {"kernel": "fused_reference", "grid": ["min(ceil_div(M * N, 256), 65536)"], "block": [256],
     "args": ["x", {"optional": "b"}, {"optional": "r"}, {"optional": "seed"}, {"optional": "p"}, {"optional": "factor"}, {"optional": "low"}, {"optional": "high"},
              {"optional": "y_scale"}, "y", {"i64": "M"}, {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// cast(clamp(dropout(factor activation(x + bias)) + residual)), each part where the problem has it, one element a thread
// at a time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/philox.cuh>

#ifndef ALPHAKERNEL
using scalar_t = float;
using out_t_y = double;
#define AK_EXACT 1
#define AK_STORE_SAME 1
#define AK_ACTIVATION_SILU 1
#endif

#ifdef AK_EXACT
using real_t = double;
#else
using real_t = float;
#endif

__device__ real_t read(const scalar_t* x, long long i) {
  float value = static_cast<float>(x[i]);
#ifdef AK_MUTATION_LOW_PRECISION
  value = __uint_as_float(__float_as_uint(value) & 0xfff00000u);  // sign, exponent, 3 bits of mantissa
#endif
  return static_cast<real_t>(value);
}

__device__ real_t activated(real_t x) {
#ifdef AK_MUTATION_NO_NAN
  if (x != x) return real_t(0);
#endif
#if defined(AK_MUTATION_NO_ACTIVATION)
  return x;
#elif defined(AK_ACTIVATION_RELU)
  return x < real_t(0) ? real_t(0) : x;  // NaN stays
#elif defined(AK_ACTIVATION_GELU)
  return x * real_t(0.5) * erfc(-x * real_t(0.70710678118654752440));  // erfc: 1 + erf(x) cancels for x < 0
#elif defined(AK_ACTIVATION_GELU_TANH)
  // 1 + tanh(u) = 2 / (1 + exp(-2 u)), which does not cancel for u < 0.
  const real_t u = real_t(0.79788456080286535588) * (x + real_t(0.044715) * x * x * x);
  return x / (real_t(1) + exp(real_t(-2) * u));
#elif defined(AK_ACTIVATION_SILU)
  return x / (real_t(1) + exp(-x));
#else
  return x;
#endif
}

__device__ bool stays(long long seed, float p, long long index) {
  const uint4 words = ak::philox(static_cast<unsigned long long>(seed), index / 4);
  const unsigned int four[4] = {words.x, words.y, words.z, words.w};
  return !(ak::uniform_number(four[index % 4]) < p);
}

__device__ out_t_y stored(real_t value, const float* y_scale) {
#if defined(AK_STORE_SAME) || defined(AK_STORE_FLOAT32)
  return static_cast<out_t_y>(value);
#else
#ifndef AK_MUTATION_NO_RESULT_SCALE
  value /= static_cast<real_t>(*y_scale);
#endif
#ifdef AK_STORE_INT8
  const real_t lowest = -128, largest = 127;
  value = rint(value);
#else
  const real_t lowest = -448, largest = 448;
#endif
  return static_cast<out_t_y>(value < lowest ? lowest : value > largest ? largest : value);
#endif
}

__global__ void fused_reference(const scalar_t* x, const scalar_t* b, const scalar_t* r, const long long* seed,
                                const float* p, const float* factor, const float* low, const float* high,
                                const float* y_scale, out_t_y* y, long long m, long long n) {
  const long long count = m * n, step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    real_t value = read(x, i);
#ifdef AK_MUTATION_BIAS_AFTER
    value = activated(value);
    if (b != nullptr) value += read(b, i % n);
#else
#ifndef AK_MUTATION_NO_BIAS
    if (b != nullptr) value += read(b, i % n);
#endif
    value = activated(value);
#endif
#ifndef AK_MUTATION_NO_FACTOR
    if (factor != nullptr) value *= static_cast<real_t>(*factor);
#endif
    if (seed != nullptr) {
#ifdef AK_MUTATION_BY_COLUMNS
      const bool stay = stays(*seed, *p, i % n * m + i / n);
#else
      const bool stay = stays(*seed, *p, i);
#endif
      value = stay ? value / (real_t(1) - static_cast<real_t>(*p)) : real_t(0);
    }
#ifndef AK_MUTATION_NO_RESIDUAL
    if (r != nullptr) value += read(r, i);
#endif
#ifndef AK_MUTATION_NO_CLAMP
    if (low != nullptr) {
      const real_t least = static_cast<real_t>(*low), most = static_cast<real_t>(*high);
      value = value < least ? least : value > most ? most : value;
    }
#endif
#ifdef AK_MUTATION_LAST_TILE
    if (i >= count - (count < 32 ? count / 2 + 1 : 32)) value = 0;
#endif
    y[i] = stored(value, y_scale);
  }
}
