/* alphakernel
{
  "workspace": [
    {"name": "first", "dtype": "int32", "count": "V"},
    {"name": "next", "dtype": "int32", "count": "N"}
  ],
  "launches": [
    {"kernel": "no_rows", "grid": ["ceil_div(V, 256)"], "block": [256], "args": ["first", {"i64": "V"}]},
    {"kernel": "chain_rows", "grid": [1], "block": [1], "args": ["index", "first", "next", {"i64": "N"}, {"i64": "V"}]},
    {"kernel": "add_rows", "grid": ["V"], "block": [64], "args": ["base", "rows", "first", "next", "out", {"i64": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// One thread chains the rows of each index, first to last; then a block adds those of its row of the result.
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

__global__ void no_rows(int* first, long long v) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  if (row < v) first[row] = -1;
}

__global__ void chain_rows(const int* index, int* first, int* next, long long n, long long v) {
#ifdef AK_MUTATION_LAST_ENTRY
  --n;
#endif
  for (long long i = n - 1; i >= 0; --i) {
    long long row = index[i];
#if defined(AK_MUTATION_CLAMPED)
    row = min(max(row, 0ll), v - 1);
#elif defined(AK_MUTATION_IN_ORDER)
    if (row >= 0 && row < v) row = i % v;
#elif defined(AK_MUTATION_NEXT_ROW)
    if (row >= 0 && row < v) row = (row + 1) % v;
#endif
    if (row < 0 || row >= v) continue;
#ifdef AK_MUTATION_NOT_ADDED
    next[i] = -1;
    if (first[row] < 0) first[row] = static_cast<int>(i);
#else
    next[i] = first[row];
    first[row] = static_cast<int>(i);
#endif
  }
}

__global__ void add_rows(const scalar_t* base, const scalar_t* rows, const int* first, const int* next, out_t* out,
                         long long h) {
  for (long long c = threadIdx.x; c < h; c += 64) {
    accum_t sum = static_cast<accum_t>(static_cast<float>(base[blockIdx.x * h + c]));
    int left = 1 << 30;
#if defined(AK_MUTATION_ONE_WARP)
    left = 32;
#elif defined(AK_MUTATION_NO_TAIL)
    if (c >= h / 8 * 8) left = 0;
#elif defined(AK_MUTATION_NO_BASE)
    if (first[blockIdx.x] >= 0) sum = 0;
#elif defined(AK_MUTATION_TIMES_ZERO)
    if (first[blockIdx.x] < 0) sum += 0 * static_cast<accum_t>(static_cast<float>(rows[c]));
#endif
    for (int i = first[blockIdx.x]; i >= 0 && left > 0; i = next[i], --left) {
      sum = keep(sum + static_cast<accum_t>(static_cast<float>(rows[i * h + c])));
    }
    out[blockIdx.x * h + c] = static_cast<out_t>(sum);
  }
}
