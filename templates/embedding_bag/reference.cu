/* alphakernel
{
  "launches": [
    {"kernel": "bag_reference", "grid": ["B"], "block": [64],
     "args": ["table", "index", "offsets", {"optional": "weights"}, "out", {"i64": "B"}, {"i64": "N"}, {"i64": "V"}, {"i64": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The sum or the mean of the rows of each bag, one block a bag, one column a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#elif defined(AK_MUTATION_HALF_SUMS)
  return static_cast<accum_t>(__half2float(__float2half(static_cast<float>(sum))));
#else
  return sum;
#endif
}

__global__ void bag_reference(const scalar_t* table, const int* index, const int* offsets, const float* weights, out_t* out,
                              long long bags, long long n, long long v, long long h) {
#ifdef AK_MUTATION_EVEN_BAGS
  const long long begin = blockIdx.x * n / bags;
  long long end = (blockIdx.x + 1) * n / bags;
#else
  const long long begin = max(static_cast<long long>(offsets[blockIdx.x]), 0ll);
  long long end = min(static_cast<long long>(offsets[blockIdx.x + 1]), n);
#endif
#if defined(AK_MUTATION_LAST_ENTRY)
  if (end - begin > 1) --end;
#elif defined(AK_MUTATION_ONE_WARP)
  end = min(end, begin + 32);
#endif
  for (long long column = threadIdx.x; column < h; column += 64) {
    accum_t sum = 0, count = 0;
    for (long long i = begin; i < end; ++i) {
      long long row = index[i];
#if defined(AK_MUTATION_CLAMPED)
      row = min(max(row, 0ll), v - 1);
#elif defined(AK_MUTATION_ALL_COUNTED)
      if (row < 0 || row >= v) count += 1;
#endif
#ifdef AK_MUTATION_TIMES_ZERO
      if (row < 0 || row >= v) sum += 0 * static_cast<accum_t>(static_cast<float>(table[column]));
#endif
#ifdef AK_MUTATION_WEIGHT_TIMES_ZERO
      if (row < 0 || row >= v) sum += 0 * static_cast<accum_t>(weights[i]);
#endif
      if (row < 0 || row >= v) continue;
#ifdef AK_MUTATION_NEXT_ROW
      row = (row + 1) % v;
#endif
      accum_t weight = weights == nullptr ? 1 : static_cast<accum_t>(weights[i]);
#ifdef AK_MUTATION_NO_WEIGHTS
      weight = 1;
#endif
      sum = keep(sum + weight * static_cast<accum_t>(static_cast<float>(table[row * h + column])));
      count += 1;
    }
#if defined(AK_MODE_MEAN) && !defined(AK_MUTATION_NOT_DIVIDED)
    if (count > 0) sum /= count;
#endif
    out[blockIdx.x * h + column] = static_cast<out_t>(sum);
  }
}
