/* alphakernel
{
  "launches": [
    {"kernel": "groupnorm_reference", "grid": ["B * G"], "block": [256],
     "args": ["x", "weight", "bias", "epsilon", "y", {"i64": "G"}, {"i64": "C // G"}, {"i64": "S"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = activation((x - mean) / sqrt(variance + epsilon) * weight + bias) over the channels of a group and their places.
// One block a group, three readings of it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
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

__device__ accum_t activated(accum_t x) {
#if defined(AK_MUTATION_OVERFLOWN_SIGMOID)
  return x * (exp(x) / (accum_t(1) + exp(x)));
#elif defined(AK_ACTIVATION_SILU) && !defined(AK_MUTATION_NO_ACTIVATION)
  return x / (accum_t(1) + exp(-x));
#else
  return x;
#endif
}

__global__ void groupnorm_reference(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, float epsilon,
                                    out_t* y, long long groups, long long channels, long long places) {
  const long long n = channels * places, start = blockIdx.x * n;
  const scalar_t* row = x + start;
#if defined(AK_MUTATION_LAST_TILE)
  const long long end = n - (n < 32 ? n / 2 : 32);
#elif defined(AK_MUTATION_FIRST_CHANNEL)
  const long long end = places;
#else
  const long long end = n;
#endif
#if defined(AK_MUTATION_FIRST_CHANNEL)
  const accum_t count = static_cast<accum_t>(places);
#elif defined(AK_MUTATION_SAMPLE_VARIANCE)
  const accum_t count = static_cast<accum_t>(n);
  const accum_t degrees = static_cast<accum_t>(n > 1 ? n - 1 : 1);
#else
  const accum_t count = static_cast<accum_t>(n);
#endif

  accum_t sum = 0;
  for (long long i = threadIdx.x; i < end; i += 256) sum = keep(sum + read(row, i));
#ifdef AK_MUTATION_NO_MEAN
  const accum_t mean = 0 * sum_of_block(sum);
#else
  const accum_t mean = sum_of_block(sum) / count;
#endif
  accum_t squares = 0;
  for (long long i = threadIdx.x; i < end; i += 256) {
#ifdef AK_MUTATION_ONE_PASS
    const accum_t distance = read(row, i);
#else
    const accum_t distance = read(row, i) - mean;
#endif
    squares = keep(squares + distance * distance);
  }
#ifdef AK_MUTATION_SAMPLE_VARIANCE
  const accum_t variance = sum_of_block(squares) / degrees;
#elif defined(AK_MUTATION_ONE_PASS)
  const accum_t variance = max(sum_of_block(squares) / count - mean * mean, accum_t(0));
#else
  const accum_t variance = sum_of_block(squares) / count;
#endif
#ifdef AK_MUTATION_EPSILON_OUTSIDE
  const accum_t deviation = sqrt(variance) + static_cast<accum_t>(epsilon);
#else
  const accum_t deviation = sqrt(variance + static_cast<accum_t>(epsilon));
#endif

#ifdef AK_MUTATION_FIRST_GROUP
  const long long first = 0 * groups;
#else
  const long long first = blockIdx.x % groups * channels;
#endif
  for (long long i = threadIdx.x; i < n; i += 256) {
    accum_t value = (read(row, i) - mean) / deviation;
#ifndef AK_MUTATION_NO_WEIGHT
    value *= read(weight, first + i / places);
#endif
#ifndef AK_MUTATION_NO_BIAS
    value += read(bias, first + i / places);
#endif
    y[start + i] = static_cast<out_t>(activated(value));
  }
}
