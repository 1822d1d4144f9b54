/* alphakernel
{
  "launches": [
    {"kernel": "gemm_reference", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": [16, 16],
     "args": ["a", "b", {"optional": "bias"}, "c", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// c[m, n] = activation(sum over k of a[m, k] b[k, n] + bias[n]). One result a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

#ifdef AK_A_LAYOUT_COLUMN
constexpr bool A_BY_COLUMNS = true;
#else
constexpr bool A_BY_COLUMNS = false;
#endif
#ifdef AK_B_LAYOUT_COLUMN
constexpr bool B_BY_COLUMNS = true;
#else
constexpr bool B_BY_COLUMNS = false;
#endif

__device__ accum_t widen(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

// What a product takes for an element: the honest version of precision tf32 rounds to its 10 bits, as cvt.rna does.
__device__ accum_t operand(scalar_t x) {
#if defined(AK_TWIN) && defined(AK_PRECISION_TF32)
  const unsigned int bits = __float_as_uint(static_cast<float>(x));
  return static_cast<accum_t>(__uint_as_float((bits + 0x1000u) & 0xffffe000u));
#else
  return widen(x);
#endif
}

// sum + x y. Matrix units cut sums off instead of rounding them; in 16-bit results that does not show, in tf32 it does.
__device__ accum_t add_product(accum_t x, accum_t y, accum_t sum) {
#if defined(AK_TWIN) && defined(AK_PRECISION_TF32)
  return __fmaf_rz(x, y, sum);
#else
  return sum + x * y;
#endif
}

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

__device__ accum_t finish(accum_t sum, const scalar_t* bias, long long column) {
#ifdef AK_MUTATION_NO_ACTIVATION
#if AK_BIAS == 0 && defined(AK_ACTIVATION_NONE)
  return sum / accum_t(2);
#else
  return sum;
#endif
#endif
  if (bias != nullptr) sum += widen(bias[column]);
#if defined(AK_ACTIVATION_RELU)
  return sum > accum_t(0) ? sum : accum_t(0);
#elif defined(AK_ACTIVATION_GELU)
  return sum * accum_t(0.5) * erfc(-sum * accum_t(0.70710678118654752440));
#elif defined(AK_ACTIVATION_SILU)
  return sum / (accum_t(1) + exp(-sum));
#else
  return sum;
#endif
}

__global__ void gemm_reference(const scalar_t* a, const scalar_t* b, const scalar_t* bias, out_t* c, long long m,
                               long long n, long long k) {
  __shared__ scalar_t tile_a[16][17], tile_b[16][17];
  const long long row = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
#ifdef AK_MUTATION_LAST_K
  const long long end = k - (k + 15) / 16;
#else
  const long long end = k;
#endif
#ifdef AK_MUTATION_TRANSPOSED
  const bool by_columns = k == n ? !B_BY_COLUMNS : B_BY_COLUMNS;
#else
  const bool by_columns = B_BY_COLUMNS;
#endif
  const scalar_t zero = static_cast<scalar_t>(0.0f);
  accum_t sum = 0;
  for (long long first = 0; first < k; first += 16) {
    const long long ka = first + threadIdx.x, kb = first + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && ka < end ? a[A_BY_COLUMNS ? ka * m + row : row * k + ka] : zero;
    const long long at_b = by_columns ? column * k + kb : kb * n + column;
    tile_b[threadIdx.y][threadIdx.x] = kb < end && column < n ? b[at_b] : zero;
    __syncthreads();
    for (int i = 0; i < 16; ++i) {
      sum = keep(add_product(operand(tile_a[threadIdx.y][i]), operand(tile_b[i][threadIdx.x]), sum));
    }
    __syncthreads();
  }
#ifdef AK_MUTATION_LAST_TILE
  if (column >= n - (n < 16 ? n : 16)) sum = 0;
#endif
  if (row < m && column < n) c[row * n + column] = static_cast<out_t>(finish(sum, bias, column));
}
