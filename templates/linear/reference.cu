/* alphakernel
{
  "launches": [
    {"kernel": "linear_reference", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": [16, 16],
     "args": ["x", "weight", "bias", "y", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, n] = activation(sum over k of x[m, k] weight[n, k] + bias[n]). One result a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/plain_product.cuh>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__device__ accum_t widen(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

__device__ accum_t activate(accum_t sum) {
#ifdef AK_MUTATION_NO_NAN
  if (sum != sum) return 0;
#endif
#if defined(AK_MUTATION_NO_ACTIVATION)
  return sum;
#elif defined(AK_ACTIVATION_RELU)
  return sum < accum_t(0) ? accum_t(0) : sum;  // NaN stays
#elif defined(AK_ACTIVATION_GELU)
  return sum * accum_t(0.5) * erfc(-sum * accum_t(0.70710678118654752440));
#elif defined(AK_ACTIVATION_SILU)
  return sum / (accum_t(1) + exp(-sum));
#else
  return sum;
#endif
}

__global__ void linear_reference(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, out_t* y, long long m,
                                 long long n, long long k) {
  const long long row = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  const long long line = blockIdx.x * 16ll + threadIdx.y;  // of the weights, that this thread loads
  const bool counts = row < m && column < n;
#ifdef AK_MUTATION_LAST_K
  const long long end = k - (k + 15) / 16;
#elif defined(AK_MUTATION_SHORT_TAIL)
  const long long end = k % 8 == 0 ? min(k, k / 64 * 64 + 8) : k;
#else
  const long long end = k;
#endif
  accum_t sum = 0;
  ak::plain_product<accum_t>(
      end, counts, [&](long long i) { return row < m ? widen(x[row * k + i]) : accum_t(0); },
      [&](long long i) { return line < n ? widen(weight[line * k + i]) : accum_t(0); },
      [&](long long, accum_t left, accum_t right) { sum = keep(sum + left * right); });
  if (!counts) return;
#ifndef AK_MUTATION_NO_BIAS
  sum += widen(bias[column]);
#endif
#ifdef AK_MUTATION_BIAS_TWICE
  sum += widen(bias[column]);
#endif
  sum = activate(sum);
#ifdef AK_MUTATION_LAST_TILE
  if (column >= n - (n < 16 ? n : 16)) sum = 0;
#endif
  y[row * n + column] = static_cast<out_t>(sum);
}
