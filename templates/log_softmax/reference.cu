/* alphakernel
{
  "launches": [
    {"kernel": "log_softmax_reference", "grid": ["M"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, n] = x[m, n] - log(sum over row m of exp(x)). One block a row: maximum, sum, results.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__device__ accum_t read(const scalar_t* row, long long i) { return static_cast<accum_t>(static_cast<float>(row[i])); }

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

__device__ accum_t larger(accum_t a, accum_t b) { return a > b ? a : b; }

// The maximum of the columns from `begin` to `end`, the same in all threads.
__device__ accum_t maximum_of(const scalar_t* row, long long begin, long long end) {
  __shared__ accum_t shared[256];
  accum_t maximum = read(row, begin);
  for (long long i = begin + threadIdx.x; i < end; i += 256) maximum = larger(maximum, read(row, i));
  shared[threadIdx.x] = maximum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = larger(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  maximum = shared[0];
  __syncthreads();
  return maximum;
}

__global__ void log_softmax_reference(const scalar_t* x, out_t* y, long long n) {
  __shared__ accum_t shared[256];
  const scalar_t* row = x + blockIdx.x * n;
#ifdef AK_MUTATION_LAST_TILE
  const long long end = n - (n < 32 ? n / 2 : 32);
#else
  const long long end = n;
#endif
#if defined(AK_MUTATION_NO_MAX)
  const accum_t maximum = 0;
#elif defined(AK_MUTATION_FIRST_COLUMNS)
  const accum_t maximum = maximum_of(row, 0, n < 256 ? n : 256);
#else
  const accum_t maximum = maximum_of(row, 0, n);
#endif
#ifdef AK_MUTATION_NO_RESCALE
  const accum_t of_first_half = maximum_of(row, 0, (n + 1) / 2), of_second_half = maximum_of(row, n / 2, n);
#endif

  accum_t sum = 0;
  for (long long i = threadIdx.x; i < end; i += 256) {
#ifdef AK_MUTATION_NO_RESCALE
    sum = keep(sum + exp(read(row, i) - (i < (n + 1) / 2 ? of_first_half : of_second_half)));
#else
    sum = keep(sum + exp(read(row, i) - maximum));
#endif
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = keep(shared[threadIdx.x] + shared[threadIdx.x + half]);
    __syncthreads();
  }
#ifdef AK_MUTATION_NO_LOGARITHM
  const accum_t logarithm = 0;
#else
  const accum_t logarithm = log(shared[0]);
#endif

  for (long long i = threadIdx.x; i < n; i += 256) {
#ifdef AK_MUTATION_OF_ROUNDED
    const accum_t share = exp(read(row, i) - maximum) / shared[0];
    y[blockIdx.x * n + i] = static_cast<out_t>(log(static_cast<accum_t>(__half2float(__float2half(static_cast<float>(share))))));
#else
    y[blockIdx.x * n + i] = static_cast<out_t>((read(row, i) - maximum) - logarithm);
#endif
  }
}
