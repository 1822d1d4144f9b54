/* alphakernel
{
  "launches": [
    {"kernel": "linear_reference", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": [16, 16],
     "args": ["x", "weight", "x_scale", "weight_scale", "y", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, n] = sum over k of x[m, k] weight[n, k] times their scales. One result a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/plain_product.cuh>

#ifndef ALPHAKERNEL
using accum_t = double;
using out_t = double;
#define AK_SCALES_BLOCK 1
#endif

__device__ accum_t widen(__nv_fp8_e4m3 x) { return static_cast<accum_t>(static_cast<float>(x)); }

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

// The scales of 128 of k, and of all of k where they do not lie along it.
__device__ accum_t scale_at(const float* x_scale, const float* weight_scale, long long row, long long column,
                            long long group, long long m, long long k) {
#ifdef AK_MUTATION_FIRST_ROW
  row = 0;
#endif
#ifdef AK_MUTATION_FIRST_LINES
  column = 0;
#endif
#ifdef AK_MUTATION_FIRST_GROUP
  group = 0;
#endif
#if defined(AK_SCALES_BLOCK)
  accum_t of_x = x_scale[group * m + row], of_weight = weight_scale[column / 128 * ((k + 127) / 128) + group];
#elif defined(AK_SCALES_ROW)
  accum_t of_x = x_scale[row], of_weight = weight_scale[column];
#else
  accum_t of_x = x_scale[0], of_weight = weight_scale[0];
#endif
#ifdef AK_MUTATION_NO_X_SCALE
  of_x = 1;
#endif
#ifdef AK_MUTATION_NO_WEIGHT_SCALE
  of_weight = 1;
#endif
  return of_x * of_weight;
}

__global__ void linear_reference(const __nv_fp8_e4m3* x, const __nv_fp8_e4m3* weight, const float* x_scale,
                                 const float* weight_scale, out_t* y, long long m, long long n, long long k) {
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
  const auto element_of_x = [&](long long i) { return row < m ? widen(x[row * k + i]) : accum_t(0); };
  const auto element_of_weight = [&](long long i) { return line < n ? widen(weight[line * k + i]) : accum_t(0); };
  accum_t result = 0;
#ifdef AK_MUTATION_LATE_SCALES
  ak::plain_product<accum_t>(end, counts, element_of_x, element_of_weight,
                             [&](long long, accum_t left, accum_t right) { result += left * right; });
  if (counts) result *= scale_at(x_scale, weight_scale, row, column, (k - 1) / 128, m, k);
#else
  accum_t sum = 0;  // of 128 of k
  ak::plain_product<accum_t>(end, counts, element_of_x, element_of_weight, [&](long long i, accum_t left, accum_t right) {
    sum = keep(sum + left * right);
    if (i % 128 != 127 && i != end - 1) return;
    result = keep(result + sum * scale_at(x_scale, weight_scale, row, column, i / 128, m, k));
    sum = 0;
  });
#endif
  if (!counts) return;
#ifdef AK_MUTATION_LAST_TILE
  if (column >= n - (n < 16 ? n : 16)) result = 0;
#endif
  y[row * n + column] = static_cast<out_t>(result);
}
