/* alphakernel
{
  "let": {"COLUMNS": "N if gate == 'none' else N // 2", "LARGE": "M >= 128 and COLUMNS >= 128"},
  "launches": [
    {"kernel": "gemm_reference<4>", "grid": ["ceil_div(COLUMNS, 64)", "ceil_div(M, 64)", "1 if batch == 'none' else B"], "block": [16, 16],
     "args": ["a", "b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"}, {"optional": "p"}, "c",
              {"i64": "M"}, {"i64": "N"}, {"i64": "K"}], "when": "LARGE"},
    {"kernel": "gemm_reference<1>", "grid": ["ceil_div(COLUMNS, 16)", "ceil_div(M, 16)", "1 if batch == 'none' else B"], "block": [16, 16],
     "args": ["a", "b", {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"}, {"optional": "p"}, "c",
              {"i64": "M"}, {"i64": "N"}, {"i64": "K"}], "when": "not LARGE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// x = activation(alpha row_scale column_scale (sum over k of a[m, k] b[k, n]) + beta residual + bias), each part of it
// where the problem has it; of pairs of columns gate(x) x; dropout; + residual; divided by c_scale and rounded. A thread
// has one result, or of large ones four by four, 16 apart; each is the sum of its products one after the other.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/philox.cuh>

#ifndef ALPHAKERNEL
using scalar_t = float;
using out_t = double;
#define AK_EXACT 1
#endif

// What results are computed in, and sums of integers exactly.
#ifdef AK_EXACT
using real_t = double;
#else
using real_t = float;
#endif
#ifdef AK_DTYPE_INT8
using sum_t = long long;
#else
using sum_t = real_t;
#endif
#if defined(AK_DTYPE_INT8) || defined(AK_DTYPE_FLOAT8_E4M3FN) || defined(AK_DTYPE_FLOAT8_E5M2)
using wide_t = __nv_bfloat16;
#else
using wide_t = scalar_t;
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
#if defined(AK_GATE_SWIGLU) || defined(AK_GATE_GEGLU)
constexpr int SUMS = 2;  // of a result
#else
constexpr int SUMS = 1;
#endif

// What a product takes for an element: the honest version of precision tf32 rounds to its 10 bits, as cvt.rna does.
__device__ sum_t operand(scalar_t x) {
#if defined(AK_TWIN) && defined(AK_PRECISION_TF32)
  const unsigned int bits = __float_as_uint(static_cast<float>(x));
  return static_cast<sum_t>(__uint_as_float((bits + 0x1000u) & 0xffffe000u));
#else
  return static_cast<sum_t>(static_cast<float>(x));
#endif
}

// sum + x y. Matrix units cut sums off instead of rounding them; in 16-bit results that does not show, in tf32 it does.
__device__ sum_t add_product(sum_t x, sum_t y, sum_t sum) {
#if defined(AK_TWIN) && defined(AK_PRECISION_TF32)
  return __fmaf_rz(x, y, sum);
#else
  return sum + x * y;
#endif
}

// What a running sum is kept as.
__device__ sum_t keep(sum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<sum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

__device__ real_t silu(real_t x) { return x / (real_t(1) + exp(-x)); }
__device__ real_t gelu(real_t x) { return x * real_t(0.5) * erfc(-x * real_t(0.70710678118654752440)); }

__device__ real_t activated(real_t x) {
#ifdef AK_MUTATION_NO_NAN
  if (x != x) return real_t(0);
#endif
#if defined(AK_ACTIVATION_RELU)
  return x < real_t(0) ? real_t(0) : x;  // NaN stays
#elif defined(AK_ACTIVATION_GELU)
  return gelu(x);
#elif defined(AK_ACTIVATION_GELU_TANH)
  // 1 + tanh(u) = 2 / (1 + exp(-2 u)), which does not cancel for u < 0.
  const real_t u = real_t(0.79788456080286535588) * (x + real_t(0.044715) * x * x * x);
  return x / (real_t(1) + exp(real_t(-2) * u));
#elif defined(AK_ACTIVATION_SILU)
  return silu(x);
#else
  return x;
#endif
}

struct Tensors {
  const wide_t *bias, *residual;
  const float *row_scales, *column_scales, *alpha, *beta, *c_scale;
  const long long* seed;
  const float* p;
};

// The element of the residual, where it is not left out.
__device__ real_t residual_at(const Tensors& t, long long at) {
#ifdef AK_MUTATION_NO_RESIDUAL
  return real_t(0);
#else
  return static_cast<real_t>(static_cast<float>(t.residual[at]));
#endif
}

// at: index of the result.
__device__ real_t value(sum_t sum, const Tensors& t, long long row, long long column, long long at) {
  real_t x = static_cast<real_t>(sum);
#ifdef AK_SCALES_ROWS_AND_COLUMNS
#ifdef AK_MUTATION_FIRST_ROW_SCALE
  row *= 0;
#endif
  x *= static_cast<real_t>(t.row_scales[row]) * static_cast<real_t>(t.column_scales[column]);
#endif
#ifdef AK_MUTATION_NO_ACTIVATION
#if AK_BIAS == 0 && defined(AK_ACTIVATION_NONE)
  return x / real_t(2);
#else
  return x;
#endif
#endif
#ifdef AK_RESIDUAL_SCALED
  x = static_cast<real_t>(*t.alpha) * x + static_cast<real_t>(*t.beta) * residual_at(t, at);
#endif
  if (t.bias != nullptr) x += static_cast<real_t>(static_cast<float>(t.bias[column]));
  return activated(x);
}

__device__ real_t gated(real_t first, real_t second) {
#ifdef AK_MUTATION_SWAPPED_GATE
  const real_t gate = second, up = first;
#else
  const real_t gate = first, up = second;
#endif
#if defined(AK_GATE_GEGLU)
  return gelu(gate) * up;
#else
  return silu(gate) * up;
#endif
}

// at: index of the result; by_columns: the same, counted column by column.
__device__ real_t dropped(real_t x, const Tensors& t, long long at, long long by_columns) {
#ifdef AK_MUTATION_DROPOUT_BY_COLUMNS
  at = by_columns;
#endif
  const uint4 words = ak::philox(static_cast<unsigned long long>(*t.seed), at / 4);
  const unsigned int four[4] = {words.x, words.y, words.z, words.w};
  const float p = *t.p;
  return ak::uniform_number(four[at % 4]) < p ? real_t(0) : x / (real_t(1) - static_cast<real_t>(p));
}

__device__ out_t stored(real_t x, const Tensors& t) {
#if defined(AK_STORE_INT8)
  x /= static_cast<real_t>(*t.c_scale);
#ifdef AK_MUTATION_CUT_OFF
  x = trunc(x);
#endif
  x = rint(x);
  return static_cast<out_t>(x < real_t(-128) ? real_t(-128) : x > real_t(127) ? real_t(127) : x);
#elif defined(AK_STORE_FLOAT8_E4M3FN)
  constexpr float kLargest = 448.0f;  // e4m3 has no infinity
  x /= static_cast<real_t>(*t.c_scale);
  x = x < real_t(-kLargest) ? real_t(-kLargest) : x > real_t(kLargest) ? real_t(kLargest) : x;
  return static_cast<out_t>(x);
#else
  return static_cast<out_t>(x);
#endif
}

constexpr int STEP = 16;  // numbers along k at a time

// Of a thread that has EACH x EACH results.
template <int EACH>
struct Sums {
  sum_t of[EACH][EACH];
};
template <int EACH>
__device__ long long row_of(int i) {
  return blockIdx.y * 16ll * EACH + threadIdx.y + 16 * i;
}
template <int EACH>
__device__ long long column_of(int j) {
  return blockIdx.x * 16ll * EACH + threadIdx.x + 16 * j;
}

// The sums of one thread of 16 x 16, for the s-th of the columns of its results.
template <int EACH>
__device__ Sums<EACH> products(const scalar_t* a, const scalar_t* b, int s, long long m, long long n, long long k) {
  __shared__ sum_t tile_a[16 * EACH][STEP + 1], tile_b[STEP][16 * EACH + 1];
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
  Sums<EACH> sums = {};
  for (long long first = 0; first < k; first += STEP) {
    const long long ka = first + threadIdx.x, kb = first + threadIdx.y;
    for (int i = 0; i < EACH; ++i) {
      const long long row = row_of<EACH>(i), column = column_of<EACH>(i) * SUMS + s;
      tile_a[threadIdx.y + 16 * i][threadIdx.x] =
          row < m && ka < end ? operand(a[A_BY_COLUMNS ? ka * m + row : row * k + ka]) : sum_t(0);
      tile_b[threadIdx.y][threadIdx.x + 16 * i] =
          column < n && kb < end ? operand(b[by_columns ? column * k + kb : kb * n + column]) : sum_t(0);
    }
    __syncthreads();
    for (int step = 0; step < STEP; ++step)
#pragma unroll
      for (int i = 0; i < EACH; ++i) {
        if (row_of<EACH>(i) >= m) break;
        const sum_t x = tile_a[threadIdx.y + 16 * i][step];
#pragma unroll
        for (int j = 0; j < EACH; ++j)
          sums.of[i][j] = keep(add_product(x, tile_b[step][threadIdx.x + 16 * j], sums.of[i][j]));
      }
    __syncthreads();
  }
#ifdef AK_MUTATION_LAST_TILE
  for (int j = 0; j < EACH; ++j)
    if (column_of<EACH>(j) * SUMS + s >= n - (n < 16 ? n : 16))
      for (int i = 0; i < EACH; ++i) sums.of[i][j] = 0;
#endif
  return sums;
}

// Of the pair of sums where the problem has two for a result.
__device__ out_t result(sum_t sum, [[maybe_unused]] sum_t second, const Tensors& t, long long row, long long column,
                        long long first, long long m, long long at) {
#if defined(AK_DTYPE_INT8) && defined(AK_SCALES_NONE)
#ifdef AK_MUTATION_NO_ACTIVATION
  return static_cast<out_t>(sum / 2);
#else
  return static_cast<out_t>(sum);
#endif
#else
  real_t x = value(sum, t, row, column * SUMS, at);
  if constexpr (SUMS == 2) x = gated(x, value(second, t, row, column * 2 + 1, at));
#ifdef AK_DROPOUT_PHILOX
  x = dropped(x, t, at, first + column * m + row);
#endif
#ifdef AK_RESIDUAL_ADDED
  x += residual_at(t, at);
#endif
  return stored(x, t);
#endif
}

template <int EACH>
__global__ void gemm_reference(const scalar_t* a, const scalar_t* b, const wide_t* bias, const wide_t* residual,
                               const float* row_scales, const float* column_scales, const float* alpha,
                               const float* beta, const float* c_scale, const long long* seed, const float* p, out_t* c,
                               long long m, long long n, long long k) {
  const long long matrix = blockIdx.z;
  a += matrix * m * k;
#ifndef AK_MUTATION_FIRST_PRODUCT
  b += matrix * k * n;
#endif
  const Tensors t = {bias, residual, row_scales + matrix * m, column_scales + matrix * n, alpha, beta, c_scale, seed, p};
  Sums<EACH> sums[SUMS];
  for (int s = 0; s < SUMS; ++s) sums[s] = products<EACH>(a, b, s, m, n, k);
  const long long width = n / SUMS, first = matrix * m * width;
#pragma unroll
  for (int i = 0; i < EACH; ++i)
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
      const long long row = row_of<EACH>(i), column = column_of<EACH>(j), at = first + row * width + column;
      if (row < m && column < width)
        c[at] = result(sums[0].of[i][j], sums[SUMS - 1].of[i][j], t, row, column, first, m, at);
    }
}
