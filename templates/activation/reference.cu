/* alphakernel
{
  "let": {"BLOCKS": "min(ceil_div(N, 256), 65536)"},
  "launches": [
    {"kernel": "activation_reference", "grid": ["BLOCKS"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[i] = f(x[i]), one element a thread at a time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#define AK_FUNCTION_GELU 1
#endif

__device__ accum_t read(const scalar_t* x, long long i) {
  float value = static_cast<float>(x[i]);
#ifdef AK_MUTATION_LOW_PRECISION
  value = __uint_as_float(__float_as_uint(value) & 0xfff00000u);  // sign, exponent, 3 bits of mantissa
#endif
  return static_cast<accum_t>(value);
}

__device__ accum_t rectified(accum_t x) { return x < accum_t(0) ? accum_t(0) : x; }  // NaN stays

__device__ accum_t function(accum_t x) {
#if defined(AK_FUNCTION_GELU)
  return x * accum_t(0.5) * erfc(-x * accum_t(0.70710678118654752440));  // erfc: 1 + erf(x) cancels for x < 0
#elif defined(AK_FUNCTION_GELU_TANH)
  // 1 + tanh(u) = 2 / (1 + exp(-2 u)), which does not cancel for u < 0.
  const accum_t u = accum_t(0.79788456080286535588) * (x + accum_t(0.044715) * x * x * x);
  return x / (accum_t(1) + exp(accum_t(-2) * u));
#elif defined(AK_FUNCTION_SILU)
  return x / (accum_t(1) + exp(-x));
#else
  return rectified(x);
#endif
}

__device__ accum_t apply(accum_t x) {
#if defined(AK_MUTATION_IDENTITY)
  return x < accum_t(0) ? x : function(x);
#elif defined(AK_MUTATION_OTHER_FUNCTION) && defined(AK_FUNCTION_RELU)
  return x / (accum_t(1) + exp(-x));
#elif defined(AK_MUTATION_OTHER_FUNCTION)
  return rectified(x);
#elif defined(AK_MUTATION_NO_NAN)
  return x != x ? accum_t(0) : function(x);
#else
  return function(x);
#endif
}

__global__ void activation_reference(const scalar_t* x, out_t* y, long long n) {
#ifdef AK_MUTATION_LAST_TILE
  const long long end = n - (n < 256 ? n : 256);
#else
  const long long end = n;
#endif
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = static_cast<out_t>(i < end ? apply(read(x, i)) : accum_t(0));
  }
}
