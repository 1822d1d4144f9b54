/* alphakernel
{
  "launches": [
    {"kernel": "linear_reference", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": [16, 16],
     "args": ["x", "weight", "x_scale", "weight_scale", {"optional": "bias"}, "y", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, n] = x_scale[m] weight_scale[n] sum over k of x[m, k] weight[n, k] + bias[n]. One result a thread; sums are
// exact.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/plain_product.cuh>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__device__ int number(signed char x) {
#ifdef AK_MUTATION_UNSIGNED
  return static_cast<unsigned char>(x);
#else
  return x;
#endif
}

__global__ void linear_reference(const signed char* x, const signed char* weight, const float* x_scale,
                                 const float* weight_scale, const scalar_t* bias, out_t* y, long long m, long long n,
                                 long long k) {
  const long long row = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  const long long line = blockIdx.x * 16ll + threadIdx.y;  // of the weights, that this thread loads
  const bool counts = row < m && column < n;
#ifdef AK_MUTATION_LAST_K
  const long long end = k - (k + 15) / 16;
#elif defined(AK_MUTATION_SHORT_TAIL)
  const long long end = k % 16 == 0 ? min(k, k / 128 * 128 + 16) : k;
#else
  const long long end = k;
#endif
  long long sum = 0;
  ak::plain_product<int>(
      end, counts, [&](long long i) { return row < m ? number(x[row * k + i]) : 0; },
      [&](long long i) { return line < n ? static_cast<int>(weight[line * k + i]) : 0; },
      [&](long long, int left, int right) { sum += left * right; });
  if (!counts) return;
#ifdef AK_MUTATION_WRAPS
  sum = static_cast<short>(sum);
#endif
  accum_t result = static_cast<accum_t>(sum);
#ifdef AK_MUTATION_BIAS_SCALED
  if (bias != nullptr) result += static_cast<accum_t>(static_cast<float>(bias[column]));
#endif
#ifdef AK_MUTATION_ONE_SCALE
  result *= static_cast<accum_t>(x_scale[0]);
#elif !defined(AK_MUTATION_NO_X_SCALE)
  result *= static_cast<accum_t>(x_scale[row]);
#endif
#ifdef AK_MUTATION_NEXT_COLUMN_SCALE
  result *= static_cast<accum_t>(weight_scale[(column + 1) % n]);
#elif !defined(AK_MUTATION_NO_WEIGHT_SCALE)
  result *= static_cast<accum_t>(weight_scale[column]);
#endif
#ifndef AK_MUTATION_BIAS_SCALED
  if (bias != nullptr) result += static_cast<accum_t>(static_cast<float>(bias[column]));
#endif
#ifdef AK_MUTATION_BIAS_TWICE
  if (bias != nullptr) result += static_cast<accum_t>(static_cast<float>(bias[column]));
#endif
#ifdef AK_MUTATION_LAST_TILE
  if (column >= n - (n < 16 ? n : 16)) result = 0;
#endif
  y[row * n + column] = static_cast<out_t>(result);
}
