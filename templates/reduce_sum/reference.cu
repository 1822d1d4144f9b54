/* alphakernel
{
  "let": {"BLOCKS": "min(ceil_div(N, 256), 2048)"},
  "workspace": [{"name": "partial", "dtype": "float64", "count": "BLOCKS", "init": "none"}],
  "launches": [
    {"kernel": "sum_of_strides", "grid": ["BLOCKS"], "block": [256], "args": ["x", "partial", {"i64": "N"}]},
    {"kernel": "sum_of_partials", "grid": [1], "block": [256], "args": ["partial", "y", {"i32": "BLOCKS"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = sum of x. Block b adds the elements of its stride and leaves one partial sum; one block adds the partial sums.
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

// Sum over the 256 threads of the block; valid in thread 0.
__device__ accum_t block_sum(accum_t value) {
  __shared__ accum_t sums[256];
  sums[threadIdx.x] = value;
  __syncthreads();
  for (unsigned int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] = keep(sums[threadIdx.x] + sums[threadIdx.x + half]);
    __syncthreads();
  }
  return sums[0];
}

__global__ void sum_of_strides(const scalar_t* x, double* partial, long long n) {
#if defined(AK_MUTATION_LAST_TILE)
  n -= n < 256 ? n : 256;
#elif defined(AK_MUTATION_NO_TAIL)
  n -= n % 8;
#endif
  accum_t sum = 0;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
#if defined(AK_MUTATION_FIRST_HALF)
    const accum_t times = i < (n + 1) / 2 ? 2 : 0;
#elif defined(AK_MUTATION_SAMPLED)
    const accum_t times = i % 2 == 0 ? 2 : 0;
#else
    const accum_t times = 1;
#endif
    sum = keep(sum + times * static_cast<accum_t>(static_cast<float>(x[i])));
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = static_cast<double>(sum);
}

__global__ void sum_of_partials(const double* partial, out_t* y, int count) {
#ifdef AK_MUTATION_ONE_BLOCK
  count = 1;
#endif
  accum_t sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 256) sum = keep(sum + static_cast<accum_t>(partial[i]));
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[0] = static_cast<out_t>(sum);
}
