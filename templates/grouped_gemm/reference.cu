/* alphakernel
{
  "launches": [
    {"kernel": "grouped_gemm_reference", "grid": ["ceil_div(N, 16)", "ceil_div(ROWS, 16)"], "block": [16, 16],
     "args": ["x", "w", "groups", {"optional": "x_scale"}, {"optional": "w_scale"}, "out", {"i32": "E"}, {"i64": "M"},
              {"i64": "ROWS"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// out[r, n] = sum over k of x[r, k] w[g, n, k] for every row r of group g, with a scale for 128 of k where there are
// such. One result a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

#ifdef AK_LAYOUT_MASKED
constexpr bool MASKED = true;
#else
constexpr bool MASKED = false;
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

// The group that has a row, or -1.
__device__ int group_of(const int* groups, int count, long long height, long long row) {
  for (int group = 0; group < count; ++group) {
    const long long begin = MASKED ? group * height : groups[group];
    long long end = MASKED ? begin + groups[group] : groups[group + 1];
#ifdef AK_MUTATION_LAST_ROW
    --end;
#endif
#if defined(AK_MUTATION_NEXT_ROW) || defined(AK_MUTATION_BEYOND_COUNT)
    if (end > begin && end < (MASKED ? begin + height : groups[count])) ++end;
#endif
    if (begin <= row && row < end) return group;
  }
  return -1;
}

__global__ void grouped_gemm_reference(const scalar_t* x, const scalar_t* w, const int* groups, const float* x_scale,
                                       const float* w_scale, out_t* out, int count, long long height, long long rows,
                                       long long n, long long k) {
  const long long row = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  if (row >= rows || column >= n) return;
  int group = group_of(groups, count, height, row);
  if (group < 0) return;
#ifdef AK_MUTATION_SKIPPED_GROUP
  if (group % 2 == 1) return;
#endif
#ifdef AK_MUTATION_FIRST_WEIGHTS
  group = 0;
#endif
#ifdef AK_MUTATION_LAST_K
  const long long last = k - 16;
#else
  const long long last = k;
#endif
  const scalar_t* weights = w + (group * n + column) * k;
  const long long blocks_k = (k + 127) / 128, blocks_n = (n + 127) / 128;
  accum_t sum = 0;
  for (long long block = 0; block < blocks_k; ++block) {
    accum_t part = 0;
    for (long long i = block * 128; i < last && i < block * 128 + 128; ++i) {
      part = keep(part + widen(x[row * k + i]) * widen(weights[i]));
    }
    if (x_scale != nullptr) {
#ifdef AK_MUTATION_FIRST_SCALE
      const long long at = 0;
#else
      const long long at = block;
#endif
      part *= static_cast<accum_t>(x_scale[row * blocks_k + at]);
#ifndef AK_MUTATION_NO_SCALE
      part *= static_cast<accum_t>(w_scale[(group * blocks_n + column / 128) * blocks_k + at]);
#endif
    }
    sum = keep(sum + part);
  }
  out[row * n + column] = static_cast<out_t>(sum);
}
