/* alphakernel
{
  "launches": [
    {"kernel": "layernorm_reference", "grid": ["M"], "block": [256], "args": ["x", "weight", "bias", {"optional": "epsilon"}, "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = (x - mean) / sqrt(variance + epsilon) * weight + bias over each row. One block a row, three readings of it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

// The input of the problem where it has any_epsilon; else the kernel receives a null pointer in its place.
#if AK_ANY_EPSILON
using Epsilon = float;
__device__ accum_t value_of(Epsilon epsilon) { return static_cast<accum_t>(epsilon); }
#else
using Epsilon = const void*;
__device__ accum_t value_of(Epsilon) { return static_cast<accum_t>(1e-5); }
#endif

__device__ accum_t read(const scalar_t* values, long long i) {
  return static_cast<accum_t>(static_cast<float>(values[i]));
}

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

// The sum over the 256 threads of the block, in all of them.
__device__ accum_t sum_of_block(accum_t sum) {
  __shared__ accum_t shared[256];
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = keep(shared[threadIdx.x] + shared[threadIdx.x + half]);
    __syncthreads();
  }
  sum = shared[0];
  __syncthreads();
  return sum;
}

__global__ void layernorm_reference(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, Epsilon epsilon, out_t* y,
                                    long long n) {
  const scalar_t* row = x + blockIdx.x * n;
  out_t* out = y + blockIdx.x * n;
  // The columns that the sums are taken of, and how many they count as.
#if defined(AK_MUTATION_LAST_TILE)
  const long long end = n - (n < 32 ? n / 2 : 32), step = 1, count = n;
#elif defined(AK_MUTATION_FIRST_COLUMNS)
  const long long end = n < 256 ? n : 256, step = 1, count = end;
#elif defined(AK_MUTATION_SAMPLED)
  const long long end = n, step = 2, count = (n + 1) / 2;
#else
  const long long end = n, step = 1, count = n;
#endif

  accum_t sum = 0;
  for (long long i = threadIdx.x * step; i < end; i += 256 * step) sum = keep(sum + read(row, i));
#ifdef AK_MUTATION_NO_MEAN
  const accum_t mean = 0 * sum_of_block(sum);
#else
  const accum_t mean = sum_of_block(sum) / static_cast<accum_t>(count);
#endif

  accum_t squares = 0;
  for (long long i = threadIdx.x * step; i < end; i += 256 * step) {
#ifdef AK_MUTATION_ONE_PASS
    const accum_t distance = read(row, i);
#else
    const accum_t distance = read(row, i) - mean;
#endif
    squares = keep(squares + distance * distance);
  }
#ifdef AK_MUTATION_ONE_PASS
  const accum_t variance = max(sum_of_block(squares) / static_cast<accum_t>(count) - mean * mean, accum_t(0));
#else
  const accum_t variance = sum_of_block(squares) / static_cast<accum_t>(count);
#endif
#ifdef AK_MUTATION_NO_EPSILON
  const accum_t deviation = sqrt(variance);
#else
  const accum_t deviation = sqrt(variance + value_of(epsilon));
#endif

  for (long long i = threadIdx.x; i < n; i += 256) {
    accum_t value = (read(row, i) - mean) / deviation;
#ifndef AK_MUTATION_NO_WEIGHT
    value *= read(weight, i);
#endif
    out[i] = static_cast<out_t>(value + read(bias, i));
  }
}
