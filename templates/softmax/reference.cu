/* alphakernel
{
  "launches": [
    {"kernel": "softmax_reference", "grid": ["M"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, n] = exp(x[m, n] - max of row m) / (sum over the row of the same). One block a row, three readings of it.
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
#else
  return sum;
#endif
}

__device__ accum_t larger(accum_t a, accum_t b) { return a > b ? a : b; }

__global__ void softmax_reference(const scalar_t* x, out_t* y, long long n) {
  __shared__ accum_t shared[256];
  const long long thread = threadIdx.x;
  const scalar_t* row = x + blockIdx.x * n;
  out_t* out = y + blockIdx.x * n;
#ifdef AK_MUTATION_LAST_TILE
  const long long end = n - (n < 32 ? n / 2 : 32);  // the sum misses the end of the row
#else
  const long long end = n;
#endif

  // The columns that the maximum is taken of.
#if defined(AK_MUTATION_FIRST_COLUMNS)
  const long long first = 0, last = n < 256 ? n : 256, step = 1;
#elif defined(AK_MUTATION_LAST_COLUMNS)
  const long long first = n < 256 ? 0 : n - 256, last = n, step = 1;
#elif defined(AK_MUTATION_SAMPLED)
  const long long first = 0, last = n, step = 16;
#else
  const long long first = 0, last = n, step = 1;
#endif
  accum_t maximum = read(row, first);
  for (long long i = first + thread * step; i < last; i += 256 * step) maximum = larger(maximum, read(row, i));
  shared[thread] = maximum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (thread < half) shared[thread] = larger(shared[thread], shared[thread + half]);
    __syncthreads();
  }
  maximum = shared[0];
  __syncthreads();
#ifdef AK_MUTATION_NO_MAX
  maximum = 0;
#endif

  accum_t sum = 0;
  for (long long i = thread; i < end; i += 256) sum = keep(sum + exp(read(row, i) - maximum));
#ifdef AK_MUTATION_MASKED_START
  accum_t own = __int_as_float(0xff800000);  // minus infinity
  sum = 0;
  for (long long i = thread; i < end; i += 256) {
    const accum_t raised = larger(own, read(row, i));
    sum = sum * exp(own - raised) + exp(read(row, i) - raised);
    own = raised;
  }
  if (thread < end) sum *= exp(own - maximum);
#endif
  shared[thread] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (thread < half) shared[thread] = keep(shared[thread] + shared[thread + half]);
    __syncthreads();
  }
  sum = shared[0];
#ifdef AK_MUTATION_NO_SUM
  sum = 1;
#endif

  for (long long i = thread; i < n; i += 256) out[i] = static_cast<out_t>(exp(read(row, i) - maximum) / sum);
}
