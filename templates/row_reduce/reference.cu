/* alphakernel
{
  "launches": [
    {"kernel": "row_reduce_reference", "grid": ["M"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m] = op of row m. One block a row; the variance takes the mean first.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
#define AK_OP_SUM 1
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

#if defined(AK_OP_ARGMAX) || defined(AK_OP_ARGMIN)
using value_t = float;  // comparisons are exact
#else
using value_t = accum_t;
#endif

// The columns that count.
#if defined(AK_MUTATION_FIRST_COLUMNS)
__device__ bool counts(long long i, long long) { return i < 256; }
#elif defined(AK_MUTATION_LAST_TILE)
__device__ bool counts(long long i, long long n) { return i < n - (n < 32 ? n / 2 : 32); }
#elif defined(AK_MUTATION_SAMPLED)
__device__ bool counts(long long i, long long) { return i % 2 == 0; }
#elif defined(AK_MUTATION_ONE_WARP)
__device__ bool counts(long long i, long long) { return i % 256 < 32; }
#else
__device__ bool counts(long long, long long) { return true; }
#endif

__device__ value_t read(const scalar_t* row, long long i) { return static_cast<value_t>(static_cast<float>(row[i])); }

// What a running sum is kept as.
__device__ value_t keep(value_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<value_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

// The sum over the block, the same in all threads.
__device__ value_t block_sum(value_t value) {
  __shared__ value_t shared[256];
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

// Whether x at column i takes the place of `best` at column `at`: as the largest or the smallest, NaN before all, and of
// equals the first.
__device__ bool is_better(value_t x, long long i, value_t best, long long at) {
#ifdef AK_MUTATION_MAGNITUDES
  x = x < 0 ? -x : x;
  best = best < 0 ? -best : best;
#endif
#ifdef AK_MUTATION_SIGNED_NAN
  const bool x_nan = x != x && __float_as_int(x) > 0, best_nan = best != best && __float_as_int(best) > 0;
#else
  const bool x_nan = x != x, best_nan = best != best;
#endif
#ifdef AK_MUTATION_NO_NAN
  if (x_nan != best_nan) return best_nan;
#else
  if (x_nan != best_nan) return x_nan;
#endif
#ifdef AK_MUTATION_SIGNED_ZEROS
  if (x == 0 && best == 0 && signbit(x) != signbit(best)) return is_better(signbit(x) ? -1 : 1, i, 0, at);
#endif
#ifdef AK_MUTATION_LAST_OF_EQUALS
  if (x_nan || x == best) return i > at;
#else
  if (x_nan || x == best) return i < at;
#endif
#if defined(AK_OP_MIN) || defined(AK_OP_ARGMIN)
  return x < best;
#else
  return x > best;
#endif
}

__global__ void row_reduce_reference(const scalar_t* x, out_t* y, long long n) {
  const scalar_t* row = x + blockIdx.x * n;
#if defined(AK_OP_SUM) || defined(AK_OP_MEAN) || defined(AK_OP_VAR)
  value_t sum = 0;
  for (long long i = threadIdx.x; i < n; i += 256) sum = counts(i, n) ? keep(sum + read(row, i)) : sum;
  sum = block_sum(sum);
#if defined(AK_OP_MEAN) && !defined(AK_MUTATION_NOT_DIVIDED)
  sum /= static_cast<value_t>(n);
#elif defined(AK_OP_VAR)
  value_t mean = sum / static_cast<value_t>(n), squares = 0;
#if defined(AK_MUTATION_NO_MEAN) || defined(AK_MUTATION_SQUARE_OF_MEAN)
  const value_t centre = 0;
#else
  const value_t centre = mean;
#endif
  for (long long i = threadIdx.x; i < n; i += 256) {
    const value_t distance = read(row, i) - centre;
    squares = counts(i, n) ? keep(squares + distance * distance) : squares;
  }
  sum = block_sum(squares);
#ifdef AK_MUTATION_SQUARE_OF_MEAN
  sum -= mean * mean * static_cast<value_t>(n);
#endif
#if defined(AK_MUTATION_BIASED)
  sum /= static_cast<value_t>(n);
#elif !defined(AK_MUTATION_NOT_DIVIDED)
  sum /= static_cast<value_t>(n - 1);
#endif
#endif
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<out_t>(sum);
#else
  __shared__ value_t values[256];
  __shared__ long long places[256];
#ifdef AK_MUTATION_FROM_ZERO
  value_t best = 0;
#else
  value_t best = read(row, 0);
#endif
  long long at = 0;
  for (long long i = threadIdx.x; i < n; i += 256) {
    if (counts(i, n) && is_better(read(row, i), i, best, at)) best = read(row, i), at = i;
  }
  values[threadIdx.x] = best;
  places[threadIdx.x] = at;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 256; ++i) {
    if (is_better(values[i], places[i], best, at)) best = values[i], at = places[i];
  }
#if defined(AK_OP_MAX) || defined(AK_OP_MIN)
  y[blockIdx.x] = static_cast<out_t>(best);
#else
#ifdef AK_MUTATION_NOWHERE
  const value_t beyond = __int_as_float(0x7f800000);
  if (best == beyond || best == -beyond) at = n;
#endif
  y[blockIdx.x] = static_cast<out_t>(at);
#endif
#endif
}
