/* alphakernel
{
  "launches": [
    {"kernel": "l2norm_reference", "grid": ["M"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x / max(sqrt(sum of x^2), 1e-12) over each row. One block a row, two readings of it.
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
#else
  return sum;
#endif
}

// What an element adds to the sum.
__device__ accum_t term(accum_t x) {
#ifdef AK_MUTATION_L1
  return fabs(x);
#else
  return x * x;
#endif
}

__global__ void l2norm_reference(const scalar_t* x, out_t* y, long long n) {
  const scalar_t* row = x + blockIdx.x * n;
#if defined(AK_MUTATION_LAST_TILE)
  const long long end = n - (n < 32 ? n / 2 : 32), step = 1;
#elif defined(AK_MUTATION_FIRST_COLUMNS)
  const long long end = n < 256 ? n : 256, step = 1;
#elif defined(AK_MUTATION_SAMPLED)
  const long long end = n, step = 2;
#else
  const long long end = n, step = 1;
#endif
  __shared__ accum_t shared[256];
  accum_t sum = 0;
  for (long long i = threadIdx.x * step; i < end; i += 256 * step) {
    sum = keep(sum + term(static_cast<accum_t>(static_cast<float>(row[i]))));
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = keep(shared[threadIdx.x] + shared[threadIdx.x + half]);
    __syncthreads();
  }
#if defined(AK_MUTATION_NO_ROOT)
  const accum_t length = shared[0];
#elif defined(AK_MUTATION_MEAN)
  const accum_t length = sqrt(shared[0] / static_cast<accum_t>(n));
#elif defined(AK_MUTATION_L1)
  const accum_t length = shared[0];
#else
  const accum_t length = sqrt(shared[0]);
#endif
#ifdef AK_MUTATION_NO_FLOOR
  const accum_t divisor = length;
#else
#ifdef AK_MUTATION_HIGH_FLOOR
  const accum_t shortest = static_cast<accum_t>(1e-6);
#else
  const accum_t shortest = static_cast<accum_t>(1e-12);
#endif
  const accum_t divisor = length < shortest ? shortest : length;
#endif
  for (long long i = threadIdx.x; i < n; i += 256) {
    y[blockIdx.x * n + i] = static_cast<out_t>(static_cast<accum_t>(static_cast<float>(row[i])) / divisor);
  }
}
