/* alphakernel
{
  "launches": [
    {"kernel": "residual_norm_reference", "grid": ["M"], "block": [256],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"optional": "scales"}, {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// residual_out = x + residual; y = the sum less its mean (layernorm), over the root of its mean square and epsilon, times
// weight, plus bias; codes are that over scales. One block a row, which reads it again for every quantity.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using out_t_y = double;
using out_t_residual_out = double;
using out_t_scales = double;
#define AK_EXACT 1
#define AK_STORE_SAME 1
#endif

#ifdef AK_EXACT
using real_t = double;
#else
using real_t = float;
#endif

#if defined(AK_STORE_INT8_ROW)
constexpr real_t LARGEST = 127;
#else
constexpr real_t LARGEST = 448;  // of e4m3
#endif

// What a running sum is kept as.
__device__ real_t keep(real_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<real_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

__device__ real_t add(real_t a, real_t b) { return keep(a + b); }
__device__ real_t maximum(real_t a, real_t b) { return a < b ? b : a; }

// The reduction over the 256 threads of the block, in all of them.
template <class Operation>
__device__ real_t reduce(real_t value, Operation operation) {
  __shared__ real_t shared[256];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = operation(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  value = shared[0];
  __syncthreads();
  return value;
}

struct Row {
  const scalar_t *x, *residual, *weight, *bias;
  real_t mean, deviation;

  __device__ real_t sum(long long i) const {
    const real_t own = static_cast<real_t>(static_cast<float>(x[i]));
#ifdef AK_MUTATION_NO_RESIDUAL
    return own;
#else
    return own + static_cast<real_t>(static_cast<float>(residual[i]));
#endif
  }
  __device__ real_t result(long long i) const {
    real_t value = (sum(i) - mean) / deviation;
#ifndef AK_MUTATION_NO_WEIGHT
    value *= static_cast<real_t>(static_cast<float>(weight[i]));
#endif
#ifdef AK_MUTATION_NO_BIAS
    return value;
#else
    return bias == nullptr ? value : value + static_cast<real_t>(static_cast<float>(bias[i]));
#endif
  }
};

__device__ void store(out_t_y* y, real_t value, real_t scale) {
#ifdef AK_STORE_SAME
  *y = static_cast<out_t_y>(value);
#else
  value /= scale;
#ifdef AK_MUTATION_CUT_OFF
  value *= real_t(0.97);  // below the nearest code as often as not
#endif
#ifdef AK_STORE_INT8_ROW
  value = rint(value);
#endif
  value = value < -LARGEST ? -LARGEST : value > LARGEST ? LARGEST : value;
  *y = static_cast<out_t_y>(value);
#endif
}

__global__ void residual_norm_reference(const scalar_t* x, const scalar_t* residual, const scalar_t* weight,
                                        const scalar_t* bias, float epsilon, out_t_y* y,
                                        out_t_residual_out* residual_out, out_t_scales* scales, long long n) {
  const long long row = blockIdx.x;
  Row r = {x + row * n, residual + row * n, weight, bias, real_t(0), real_t(1)};
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

#if defined(AK_KIND_LAYERNORM) && !defined(AK_MUTATION_NO_MEAN)
  real_t sum = 0;
  for (long long i = threadIdx.x * step; i < end; i += 256 * step) sum = add(sum, r.sum(i));
  r.mean = reduce(sum, add) / static_cast<real_t>(count);
#endif
  real_t squares = 0;
  for (long long i = threadIdx.x * step; i < end; i += 256 * step) {
#ifdef AK_MUTATION_ONE_PASS
    const real_t distance = r.sum(i);
#else
    const real_t distance = r.sum(i) - r.mean;
#endif
    squares = add(squares, distance * distance);
  }
#ifdef AK_MUTATION_ONE_PASS
  const real_t mean_square = maximum(reduce(squares, add) / static_cast<real_t>(count) - r.mean * r.mean, real_t(0));
#else
  const real_t mean_square = reduce(squares, add) / static_cast<real_t>(count);
#endif
#if defined(AK_MUTATION_EPSILON_OUTSIDE)
  r.deviation = sqrt(mean_square) + static_cast<real_t>(epsilon);
#else
  r.deviation = sqrt(mean_square + static_cast<real_t>(epsilon));
#endif

  for (long long i = threadIdx.x; i < n; i += 256) {
#ifdef AK_MUTATION_OLD_RESIDUAL
    residual_out[row * n + i] = static_cast<out_t_residual_out>(static_cast<float>(residual[row * n + i]));
#else
    residual_out[row * n + i] = static_cast<out_t_residual_out>(r.sum(i));
#endif
  }
#if defined(AK_STORE_FP8_BLOCK) && !defined(AK_MUTATION_ROW_SCALES)
  const long long width = 128;
#else
  const long long width = n;
#endif
  for (long long first = 0; first < n; first += width) {
    const long long last = first + width < n ? first + width : n;
    real_t largest = 0;
#ifndef AK_STORE_SAME
    for (long long i = first + threadIdx.x; i < last; i += 256) {
#ifdef AK_MUTATION_SIGNED_LARGEST
      largest = maximum(largest, r.result(i));
#else
      largest = maximum(largest, fabs(r.result(i)));
#endif
    }
    largest = reduce(largest, maximum);
#endif
    const real_t least = 0x1p-100;
    const real_t scale = maximum(largest, least) / LARGEST;
#ifdef AK_STORE_FP8_BLOCK
    for (long long block = first / 128 + threadIdx.x; block * 128 < last; block += 256) {
      scales[row * ((n + 127) / 128) + block] = static_cast<out_t_scales>(scale);
    }
#elif !defined(AK_STORE_SAME)
    if (threadIdx.x == 0) scales[row] = static_cast<out_t_scales>(scale);
#endif
    for (long long i = first + threadIdx.x; i < last; i += 256) store(y + row * n + i, r.result(i), scale);
  }
}
