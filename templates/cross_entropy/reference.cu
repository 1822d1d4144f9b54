/* alphakernel
{
  "launches": [
    {"kernel": "cross_entropy_reference", "grid": ["M"], "block": [256],
     "args": ["logits", "target", "ignore_index", "smoothing", {"optional": "dloss"}, "loss", {"optional": "dlogits"},
              {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The cross entropy of each row of logits, and its gradient where there is room for it. One block a row: maximum, sums,
// results.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t_loss = double;
using out_t_dlogits = double;
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

// The sum over the block, the same in all threads.
__device__ accum_t block_sum(accum_t value) {
  __shared__ accum_t shared[256];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = keep(shared[threadIdx.x] + shared[threadIdx.x + half]);
    __syncthreads();
  }
  value = shared[0];
  __syncthreads();
  return value;
}

__global__ void cross_entropy_reference(const scalar_t* logits, const long long* target, long long ignore_index,
                                        float smoothing, const float* dloss, out_t_loss* loss, out_t_dlogits* dlogits,
                                        long long n) {
  const scalar_t* row = logits + blockIdx.x * n;
  long long wanted = target[blockIdx.x];
#ifdef AK_MUTATION_HALF_TARGET
  wanted = static_cast<int>(wanted);
#endif
  bool ignored = wanted == ignore_index || wanted < 0 || wanted >= n;
#if defined(AK_MUTATION_NOT_IGNORED)
  ignored = wanted < 0 || wanted >= n;
#elif defined(AK_MUTATION_CLAMPED)
  ignored = wanted == ignore_index && wanted >= 0;
  wanted = min(max(wanted, 0ll), n - 1);
#elif defined(AK_MUTATION_NEXT_TARGET)
  wanted = ignored ? wanted : (wanted + 1) % n;
#endif
#ifdef AK_MUTATION_NO_SMOOTHING
  smoothing = 0;
#endif
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

  accum_t exponentials = 0, sum = 0;
  for (long long i = threadIdx.x; i < n; i += 256) {
#ifdef AK_MUTATION_NO_RESCALE
    const accum_t relative_to = i < (n + 1) / 2 ? of_first_half : of_second_half;
#else
    const accum_t relative_to = maximum;
#endif
    if (i < end) exponentials = keep(exponentials + exp(read(row, i) - relative_to));
    sum = keep(sum + read(row, i));
  }
  exponentials = block_sum(exponentials);
  const accum_t mean = block_sum(sum) / static_cast<accum_t>(n);
  const accum_t logarithm = log(exponentials), s = static_cast<accum_t>(smoothing);
#ifdef AK_MUTATION_SMOOTHED_BY_OTHERS
  const accum_t spread = s * static_cast<accum_t>(n) / static_cast<accum_t>(n > 1 ? n - 1 : 2);
#else
  const accum_t spread = s;
#endif

  if (threadIdx.x == 0) {
    accum_t result = 0;
    if (!ignored) result = (maximum - read(row, wanted)) + logarithm;
    if (!ignored && smoothing > 0) result = (1 - s) * result + spread * ((maximum - mean) + logarithm);
    loss[blockIdx.x] = static_cast<out_t_loss>(result);
  }
  if (dlogits == nullptr) return;
#ifdef AK_MUTATION_NO_DLOSS
  const accum_t slope = 1;
#else
  const accum_t slope = static_cast<accum_t>(dloss[blockIdx.x]);
#endif
  for (long long i = threadIdx.x; i < n; i += 256) {
    accum_t result = exp(read(row, i) - maximum) / exponentials - spread / static_cast<accum_t>(n);
#ifndef AK_MUTATION_NO_TARGET
    if (i == wanted) result -= 1 - s;
#endif
    result *= slope;
#ifndef AK_MUTATION_GRADIENT_OF_IGNORED
    if (ignored) result = 0;
#endif
    dlogits[blockIdx.x * n + i] = static_cast<out_t_dlogits>(result);
  }
}
