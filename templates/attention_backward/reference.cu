/* alphakernel
{
  "workspace": [{"name": "delta", "dtype": "float64", "count": "B * H * S"}],
  "launches": [
    {"kernel": "sum_rows", "grid": ["ceil_div(B * H * S, 128)"], "block": [128],
     "args": ["o", "dout", "delta", {"i64": "B * H * S"}]},
    {"kernel": "backward_reference<true>", "grid": ["ceil_div(T, 8) * B * G"], "block": [128],
     "args": ["q", "k", "v", "lse", "dout", "delta", "dk", "dv", {"i64": "H // G"}, {"i64": "G"}, {"i64": "S"},
              {"i64": "T"}]},
    {"kernel": "backward_reference<false>", "grid": ["ceil_div(S, 8) * B * H"], "block": [128],
     "args": ["q", "k", "v", "lse", "dout", "delta", "dq", "dq", {"i64": "H // G"}, {"i64": "G"}, {"i64": "S"},
              {"i64": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of attention. A block has 8 keys of a head and walks the queries for dk and dv, or 8 queries and walks the
// keys for dq, 32 at a time. A warp has two of the 8; its lanes are the lines that are walked, and then the columns of
// the results.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
constexpr int D = 128;
constexpr bool CAUSAL = false;
using scalar_t = __nv_bfloat16;
using accum_t = double;
using out_t = double;
#define AK_EXACT 1
#endif

constexpr int WARPS = 4, ROWS = 2;  // of a block, of a warp
constexpr int LINES = WARPS * ROWS;
constexpr int LANES = 32;
constexpr int PARTS = D / LANES;

__device__ accum_t widen(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

// One term of a product. Matrix units cut sums off instead of rounding them, and so does the twin.
__device__ double add_product(double a, double b, double sum) { return fma(a, b, sum); }
__device__ float add_product(float a, float b, float sum) { return __fmaf_rz(a, b, sum); }

// A factor as matrix units take it: in the element type.
__device__ accum_t as_operand(accum_t x) {
#ifdef AK_EXACT
  return x;
#else
  return widen(static_cast<scalar_t>(x));
#endif
}

__device__ bool sees(long long query, long long key, long long queries, long long keys) {
  long long end = CAUSAL ? query + keys - queries + 1 : keys;
#ifdef AK_MUTATION_MASK_BY_ONE
  end = CAUSAL ? end + 1 : end;
#endif
#ifdef AK_MUTATION_NO_MASK
  end = CAUSAL ? keys : keys - 1;
#endif
  return key < end;
}

__global__ void sum_rows(const scalar_t* o, const scalar_t* dout, double* delta, long long lines) {
  const long long line = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  accum_t sum = 0;
  for (int d = 0; d < D; ++d) sum = keep(fma(widen(o[line * D + d]), widen(dout[line * D + d]), sum));
#ifdef AK_MUTATION_NO_DELTA
  sum = 0;
#endif
  delta[line] = static_cast<double>(sum);
}

struct Shared {
  accum_t own[2][LINES][D];         // k and v, or q and dout
  accum_t part[LANES][LANES + 1];   // 32 lines that are walked, 32 columns
  accum_t weights[LINES][LANES], gradients[LINES][LANES];
};

// Lines past the end are zero.
__device__ void stage(Shared& shared, const scalar_t* lines, long long count, int column) {
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  __syncthreads();
  for (int i = warp; i < LANES; i += WARPS) {
    shared.part[i][lane] = i < count ? widen(lines[static_cast<long long>(i) * D + column + lane]) : accum_t(0);
  }
  __syncthreads();
}

// Products of the warp's own lines and the lane's.
__device__ void multiply(Shared& shared, int which, const scalar_t* lines, long long count, accum_t (&sums)[ROWS]) {
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES * ROWS;
  for (int r = 0; r < ROWS; ++r) sums[r] = 0;
  for (int part = 0; part < PARTS; ++part) {
    stage(shared, lines, count, part * LANES);
#pragma unroll 8
    for (int i = 0; i < LANES; ++i) {
      for (int r = 0; r < ROWS; ++r)
        sums[r] = keep(add_product(shared.own[which][row + r][part * LANES + i], shared.part[lane][i], sums[r]));
    }
  }
}

// Adds factors times lines.
__device__ void accumulate(Shared& shared, const accum_t (&factors)[LINES][LANES], const scalar_t* lines,
                           long long count, accum_t (&sums)[ROWS][PARTS]) {
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES * ROWS;
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    stage(shared, lines, count, part * LANES);
#pragma unroll 8
    for (int i = 0; i < LANES; ++i) {
      for (int r = 0; r < ROWS; ++r)
        sums[r][part] = keep(fma(factors[row + r][i], shared.part[i][lane], sums[r][part]));
    }
  }
}

// first, second: dk and dv of OF_KEYS, else dq.
template <bool OF_KEYS>
__global__ void backward_reference(const scalar_t* q, const scalar_t* k, const scalar_t* v, const float* lse,
                                   const scalar_t* dout, const double* delta, out_t* first, out_t* second,
                                   long long share, long long key_heads, long long queries, long long keys) {
  __shared__ Shared shared;
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES * ROWS;
  const long long own_lines = OF_KEYS ? keys : queries, walked = OF_KEYS ? queries : keys;
  const long long blocks = (own_lines + LINES - 1) / LINES, head = blockIdx.x / blocks;
  const long long own = blockIdx.x % blocks * LINES;
  long long query_head = OF_KEYS ? head * share : head, key_head = OF_KEYS ? head : head / share;
#ifdef AK_MUTATION_WRONG_HEAD
  if (!OF_KEYS) key_head = head / (key_heads * share) * key_heads + head % (key_heads * share) % key_heads;
  if (key_heads == 1 || share == 1) v = k;
#endif
  accum_t scale = accum_t(1) / sqrt(static_cast<accum_t>(D)), outer_scale = scale, unit = 1;
#ifdef AK_MUTATION_NO_SCALE
  scale = 1;
#endif
#ifdef AK_MUTATION_NO_OUTER_SCALE
  outer_scale = 1;
#endif
#ifdef AK_MUTATION_BINARY_LSE
  unit = accum_t(0.6931471805599453);
#endif
  k += key_head * keys * D;
  v += key_head * keys * D;
  for (int i = threadIdx.x; i < LINES * D; i += blockDim.x) {
    const long long at = (OF_KEYS ? 0 : query_head * queries * D) + own * D + i;
    const bool inside = own + i / D < own_lines;
    shared.own[0][i / D][i % D] = inside ? widen((OF_KEYS ? k : q)[at]) : accum_t(0);
    shared.own[1][i / D][i % D] = inside ? widen((OF_KEYS ? v : dout)[at]) : accum_t(0);
  }
  accum_t of_scores[ROWS][PARTS] = {}, of_values[ROWS][PARTS] = {};
  long long heads = OF_KEYS ? share : 1, end = walked;
#ifdef AK_MUTATION_ONE_HEAD
  heads = 1;
#endif
#ifdef AK_MUTATION_LAST_QUERIES
  if (OF_KEYS) end -= min(end / 2, 16ll);
#endif
#ifdef AK_MUTATION_LAST_KEYS
  if (!OF_KEYS) end -= min(end / 2, 16ll);
#endif
  for (long long h = query_head; h < query_head + heads; ++h) {
    for (long long at = 0; at < end; at += LANES) {
      const long long count = end - at, line = h * queries + at;
      const scalar_t* scores_with = OF_KEYS ? q + line * D : k + at * D;
      const scalar_t* values_with = OF_KEYS ? dout + line * D : v + at * D;
      accum_t scores[ROWS], products[ROWS];
      multiply(shared, 0, scores_with, count, scores);
      multiply(shared, 1, values_with, count, products);
      for (int r = 0; r < ROWS; ++r) {
        const long long mine = own + row + r, other = at + lane;
        const long long query = OF_KEYS ? other : mine, key = OF_KEYS ? mine : other;
        accum_t p = 0, ds = 0;
        if (other < end && mine < own_lines && sees(query, key, queries, keys)) {
          p = exp(scores[r] * scale - static_cast<accum_t>(lse[h * queries + query]) * unit);
          ds = p * (products[r] - static_cast<accum_t>(delta[h * queries + query]));
        }
#ifdef AK_MUTATION_PROBABILITY
        if (!OF_KEYS) ds = p;
#endif
        shared.weights[row + r][lane] = as_operand(p);
        shared.gradients[row + r][lane] = as_operand(ds);
      }
      accumulate(shared, shared.gradients, scores_with, count, of_scores);
      if (OF_KEYS) accumulate(shared, shared.weights, values_with, count, of_values);
    }
  }
  for (int r = 0; r < ROWS; ++r) {
    const long long mine = own + row + r;
    if (mine >= own_lines) continue;
    for (int part = 0; part < PARTS; ++part) {
      const long long to = (head * own_lines + mine) * D + part * LANES + lane;
      first[to] = static_cast<out_t>(of_scores[r][part] * outer_scale);
      if (OF_KEYS) second[to] = static_cast<out_t>(of_values[r][part]);
    }
  }
}
