/* alphakernel
{
  "workspace": [{"name": "means", "dtype": "float64", "count": "B * H"}],
  "launches": [
    {"kernel": "mean_reference", "grid": ["B"], "block": [128], "args": ["x", "lengths", "means", {"i64": "S"}, {"i64": "H"}]},
    {"kernel": "norm_reference", "grid": ["B"], "block": [128], "args": ["means", "y", {"i64": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The mean of each column over a sequence's tokens, one thread a column; then one block a sequence divides by the norm.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
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

// What a token counts.
__device__ accum_t share_of(const scalar_t* token, long long h) {
  accum_t share = 1;
#ifdef AK_MUTATION_NORM_OF_TOKENS
  accum_t squares = 0;
  for (long long i = 0; i < h; ++i) squares += widen(token[i]) * widen(token[i]);
  share = 1 / max(sqrt(squares), static_cast<accum_t>(1e-12));
#endif
  return share;
}

__global__ void mean_reference(const scalar_t* x, const int* lengths, double* means, long long s, long long h) {
  const scalar_t* tokens = x + blockIdx.x * s * h;
  long long n = min(max(static_cast<long long>(lengths[blockIdx.x]), 0ll), s);
#if defined(AK_MUTATION_NO_LENGTHS)
  n = s;
#elif defined(AK_MUTATION_LENGTH_BY_ONE)
  n -= n > 1;
#endif
  for (long long i = threadIdx.x; i < h; i += 128) {
    accum_t sum = 0;
    for (long long t = 0; t < n; ++t) sum = keep(sum + share_of(tokens + t * h, h) * widen(tokens[t * h + i]));
#ifdef AK_MUTATION_TIMES_ZERO
    for (long long t = n; t < s; ++t) sum += 0 * widen(tokens[t * h + i]);
#endif
    means[blockIdx.x * h + i] = static_cast<double>(sum / static_cast<accum_t>(max(n, 1ll)));
  }
}

__global__ void norm_reference(const double* means, out_t* y, long long h) {
  __shared__ accum_t shared[128];
  const double* mean = means + blockIdx.x * h;
#if defined(AK_MUTATION_ONE_WARP)
  const long long counted = min(h, 32ll);
#elif defined(AK_MUTATION_FIRST_COLUMNS)
  const long long counted = min(h, 256ll);
#else
  const long long counted = h;
#endif
  accum_t squares = 0;
  for (long long i = threadIdx.x; i < counted; i += 128) {
    squares = keep(squares + static_cast<accum_t>(mean[i]) * static_cast<accum_t>(mean[i]));
  }
  shared[threadIdx.x] = squares;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = keep(shared[threadIdx.x] + shared[threadIdx.x + half]);
    __syncthreads();
  }
  accum_t norm = sqrt(shared[0]);
#if defined(AK_MUTATION_NO_NORM)
  norm = 1;
#elif defined(AK_MUTATION_SQUARE)
  norm = shared[0];
#endif
#ifdef AK_MUTATION_HIGH_FLOOR
  const accum_t least = static_cast<accum_t>(1e-6);
#else
  const accum_t least = static_cast<accum_t>(1e-12);
#endif
  norm = norm > least ? norm : least;
  for (long long i = threadIdx.x; i < h; i += 128) {
    y[blockIdx.x * h + i] = static_cast<out_t>(static_cast<accum_t>(mean[i]) / norm);
  }
}
