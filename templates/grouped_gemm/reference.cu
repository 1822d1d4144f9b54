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

#include <ak/plain_product.cuh>

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
    long long begin = MASKED ? group * height : groups[group];
    long long end = MASKED ? begin + groups[group] : groups[group + 1];
#ifdef AK_MUTATION_FROM_ROW_0
    if (group == 0) begin = 0;
#endif
#ifdef AK_MUTATION_TO_LAST_ROW
    if (group == count - 1) end = height;
#endif
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
  const long long line = blockIdx.x * 16ll + threadIdx.y;  // of the weights, that this thread loads
  const int own = row < rows && column < n ? group_of(groups, count, height, row) : -1;
#ifdef AK_MUTATION_LAST_K
  const long long last = k - 16;
#else
  const long long last = k;
#endif
  const long long blocks_k = (k + 127) / 128, blocks_n = (n + 127) / 128;
  // Every group that has a row of this block, in turn.
  for (int group = 0; group < count; ++group) {
    if (!__syncthreads_or(own == group)) continue;
#ifdef AK_MUTATION_SKIPPED_GROUP
    if (group % 2 == 1) continue;
#endif
#ifdef AK_MUTATION_FIRST_WEIGHTS
    const long long taken = 0;
#else
    const long long taken = group;
#endif
    const scalar_t* weights = w + (taken * n + line) * k;
    const auto scaled = [&](accum_t part, long long block) {
      if (x_scale == nullptr) return part;
#ifdef AK_MUTATION_FIRST_SCALE
      block = 0;
#endif
      part *= static_cast<accum_t>(x_scale[row * blocks_k + block]);
#ifndef AK_MUTATION_NO_SCALE
      part *= static_cast<accum_t>(w_scale[(taken * blocks_n + column / 128) * blocks_k + block]);
#endif
      return part;
    };
    accum_t sum = 0, part = 0;  // part: of 128 of k
    ak::plain_product<accum_t>(
        last, own == group, [&](long long i) { return row < rows ? widen(x[row * k + i]) : accum_t(0); },
        [&](long long i) { return line < n ? widen(weights[i]) : accum_t(0); },
        [&](long long i, accum_t left, accum_t right) {
          part = keep(part + left * right);
          if (i % 128 != 127 && i != last - 1) return;
          sum = keep(sum + scaled(part, i / 128));
          part = 0;
        });
    if (own == group) out[row * n + column] = static_cast<out_t>(sum);
  }
}
