/* alphakernel
{
  "launches": [
    {"kernel": "swiglu_reference", "grid": ["min(ceil_div(M * N, 256), 65536)"], "block": [256],
     "args": ["x", "y", {"i64": "M * N"}, {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = f(gate) * up, one element a thread at a time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#define AK_LAYOUT_HALVES 1
#define AK_FUNCTION_SILU 1
#endif

__device__ accum_t read(const scalar_t* x, long long i) {
  float value = static_cast<float>(x[i]);
#ifdef AK_MUTATION_LOW_PRECISION
  value = __uint_as_float(__float_as_uint(value) & 0xfff00000u);  // sign, exponent, 3 bits of mantissa
#endif
  return static_cast<accum_t>(value);
}

__device__ accum_t function(accum_t x) {
#ifdef AK_MUTATION_NO_NAN
  x = x > accum_t(-88) ? x : accum_t(-88);
#endif
#if defined(AK_MUTATION_OTHER_FUNCTION)
  return x > accum_t(0) ? x : accum_t(0);
#elif defined(AK_FUNCTION_GELU) != defined(AK_MUTATION_NEAR_FUNCTION) && !defined(AK_FUNCTION_SILU)
  return x * accum_t(0.5) * erfc(-x * accum_t(0.70710678118654752440));  // erfc: 1 + erf(x) cancels for x < 0
#elif !defined(AK_FUNCTION_SILU)
  // 1 + tanh(u) = 2 / (1 + exp(-2 u)), which does not cancel for u < 0.
  const accum_t u = accum_t(0.79788456080286535588) * (x + accum_t(0.044715) * x * x * x);
  return x / (accum_t(1) + exp(accum_t(-2) * u));
#else
  return x / (accum_t(1) + exp(-x));
#endif
}

__global__ void swiglu_reference(const scalar_t* x, out_t* y, long long count, long long n) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const long long row = i / n * 2 * n, column = i % n;
#if defined(AK_LAYOUT_INTERLEAVED) != defined(AK_MUTATION_OTHER_LAYOUT)
    const accum_t gate = read(x, row + 2 * column), up = read(x, row + 2 * column + 1);
#else
    const accum_t gate = read(x, row + column), up = read(x, row + n + column);
#endif
#if defined(AK_MUTATION_SWAPPED)
    accum_t value = function(up) * gate;
#elif defined(AK_MUTATION_NO_UP)
    accum_t value = function(gate);
#else
    accum_t value = function(gate) * up;
#endif
#ifdef AK_MUTATION_LAST_TILE
    if (i >= count - (count < 32 ? count / 2 + 1 : 32)) value = 0;
#endif
    y[i] = static_cast<out_t>(value);
  }
}
