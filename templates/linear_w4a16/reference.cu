/* alphakernel
{
  "launches": [
    {"kernel": "linear_reference", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": [16, 16],
     "args": ["x", "weight", "scale", {"optional": "zero"}, "y", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, n] = sum over k of x[m, k] (weight[n, k] - zero[n, k / 128]) scale[n, k / 128]. One result a thread.
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

__device__ int number_at(const unsigned char* row, long long k) {
#ifdef AK_MUTATION_SWAPPED_NIBBLES
  const int number = row[k / 2] >> (1 - k % 2) * 4 & 15;
#else
  const int number = row[k / 2] >> k % 2 * 4 & 15;
#endif
#ifdef AK_MUTATION_SIGNED_WEIGHTS
  return number ^ 8;  // -8 to 7, plus 8
#else
  return number;
#endif
}

__global__ void linear_reference(const scalar_t* x, const unsigned char* weight, const scalar_t* scale,
                                 const unsigned char* zero, out_t* y, long long m, long long n,
                                 long long k) {
  const long long row = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  const long long line = blockIdx.x * 16ll + threadIdx.y;  // of the weights, that this thread loads
  const bool counts = row < m && column < n;
  const long long bytes = (k + 1) / 2, groups = (k + 127) / 128;
#ifdef AK_MUTATION_LAST_K
  const long long end = k - (k + 15) / 16;
#elif defined(AK_MUTATION_SHORT_TAIL)
  const long long end = k % 8 == 0 ? min(k, k / 128 * 128 + 8) : k;
#else
  const long long end = k;
#endif
#ifdef AK_MUTATION_NEXT_ROW_SCALE
  const scalar_t* scales = scale + (line + 1) % n * groups;
#else
  const scalar_t* scales = scale + line * groups;
#endif
  const auto weight_at = [&](long long i) {
    if (line >= n) return accum_t(0);
#if defined(AK_MUTATION_FIRST_GROUP)
    const long long group = 0;
#elif defined(AK_MUTATION_GROUPS_OF_64)
    const long long group = i / 64 < groups ? i / 64 : groups - 1;
#else
    const long long group = i / 128;
#endif
#ifdef AK_MUTATION_NO_ZERO_POINT
    const int offset = 0;
#else
    const int offset = zero != nullptr ? zero[line * groups + group] : 8;
#endif
    accum_t factor = static_cast<accum_t>(number_at(weight + line * bytes, i) - offset);
#ifndef AK_MUTATION_NO_SCALE
    factor *= widen(scales[group]);
#endif
    return factor;
  };
  accum_t sum = 0;
  ak::plain_product<accum_t>(
      end, counts, [&](long long i) { return row < m ? widen(x[row * k + i]) : accum_t(0); }, weight_at,
      [&](long long, accum_t left, accum_t right) { sum = keep(sum + left * right); });
  if (!counts) return;
#ifdef AK_MUTATION_LAST_TILE
  if (column >= n - (n < 16 ? n : 16)) sum = 0;
#endif
  y[row * n + column] = static_cast<out_t>(sum);
}
