/* alphakernel
{
  "launches": [
    {"kernel": "layernorm_dropout_reference", "grid": ["M"], "block": [256],
     "args": ["x", "weight", "bias", "seed", "p", "y", "mask", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// z = (x - mean) / sqrt(variance + 1e-5) * weight + bias over each row; an element stays where its random number is p or
// more: y = z / (1 - p), else 0. One block a row, three readings of it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/philox.cuh>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t_y = double;
using out_t_mask = long long;
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

// Whether element `column` of row `row` stays.
__device__ bool stays(long long seed, float p, long long row, long long column, long long n) {
#if defined(AK_MUTATION_BY_COLUMNS)
  const long long index = column * gridDim.x + row;
#elif defined(AK_MUTATION_SAME_ROWS)
  const long long index = column;
#else
  const long long index = row * n + column;
#endif
#ifdef AK_MUTATION_SHORT_SEED
  seed &= 0xffffffffll;
#endif
  const uint4 words = ak::philox(static_cast<unsigned long long>(seed), index / 4);
  const unsigned int four[4] = {words.x, words.y, words.z, words.w};
#ifdef AK_MUTATION_ABOVE_P
  return ak::uniform_number(four[index % 4]) > p;
#else
  return !(ak::uniform_number(four[index % 4]) < p);
#endif
}

__global__ void layernorm_dropout_reference(const scalar_t* x, const scalar_t* weight, const scalar_t* bias,
                                            const long long* seed, const float* p, out_t_y* y, out_t_mask* mask,
                                            long long n) {
  const long long start = blockIdx.x * n;
  const scalar_t* row = x + start;
#if defined(AK_MUTATION_LAST_TILE)
  const long long end = n - (n < 32 ? n / 2 : 32);
#else
  const long long end = n;
#endif

  accum_t sum = 0;
  for (long long i = threadIdx.x; i < end; i += 256) sum = keep(sum + read(row, i));
#ifdef AK_MUTATION_NO_MEAN
  const accum_t mean = 0 * sum_of_block(sum);
#else
  const accum_t mean = sum_of_block(sum) / static_cast<accum_t>(n);
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
#ifdef AK_MUTATION_ONE_PASS
  const accum_t variance = max(sum_of_block(squares) / static_cast<accum_t>(n) - mean * mean, accum_t(0));
#else
  const accum_t variance = sum_of_block(squares) / static_cast<accum_t>(n);
#endif
#ifdef AK_MUTATION_NO_EPSILON
  const accum_t deviation = sqrt(variance);
#else
  const accum_t deviation = sqrt(variance + static_cast<accum_t>(1e-5));
#endif

  for (long long i = threadIdx.x; i < n; i += 256) {
    accum_t value = (read(row, i) - mean) / deviation;
#ifndef AK_MUTATION_NO_WEIGHT
    value *= read(weight, i);
#endif
    value += read(bias, i);
    const bool stay = stays(*seed, *p, blockIdx.x, i, n);
#ifndef AK_MUTATION_NOT_SCALED
    value /= accum_t(1) - static_cast<accum_t>(*p);
#endif
#ifdef AK_MUTATION_TIMES_MASK
    y[start + i] = static_cast<out_t_y>(stay ? value : accum_t(0) * value);
#else
    y[start + i] = static_cast<out_t_y>(stay ? value : accum_t(0));
#endif
#ifdef AK_MUTATION_INVERTED_MASK
    mask[start + i] = static_cast<out_t_mask>(!stay);
#else
    mask[start + i] = static_cast<out_t_mask>(stay);
#endif
  }
}
