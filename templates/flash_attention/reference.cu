/* alphakernel
{
  "launches": [
    {"kernel": "attention_reference", "grid": ["ceil_div(S, 16) * H * B"], "block": [128],
     "args": ["q", "k", "v", "o", "lse", {"i64": "H"}, {"i64": "G"}, {"i64": "S"}, {"i64": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// o = softmax(q k^T / sqrt(D)) v and the logarithms of the softmax's sums. A block takes 16 queries of one head and
// walks the keys twice, 32 at a time: for the maximum, then for the exponentials, their sum and their product with v.
// A warp has four of the queries; its lanes are the keys of a tile, and the columns of what is staged of v.
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

#ifdef AK_EXACT
using lse_t = double;
#else
using lse_t = float;
#endif

constexpr int WARPS = 4, ROWS = 4;  // of a block, of a warp
constexpr int QUERIES = WARPS * ROWS;
constexpr int LANES = 32;  // keys of a tile, and columns staged at a time
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

// One term of a score. Matrix units cut sums off instead of rounding them, and so does the twin.
__device__ double add_product(double a, double b, double sum) { return fma(a, b, sum); }
__device__ float add_product(float a, float b, float sum) { return __fmaf_rz(a, b, sum); }

// The probability as it enters the product with v: matrix units take it in the element type.
__device__ accum_t as_operand(accum_t p) {
#ifdef AK_EXACT
  return p;
#else
  return widen(static_cast<scalar_t>(p));
#endif
}

// A query sees the keys below this one.
__device__ long long keys_seen(long long query, long long s, long long t) {
  long long seen = CAUSAL ? max(query + t - s + 1, 0ll) : t;
#ifdef AK_MUTATION_NO_MASK
  seen = CAUSAL ? t : t - 1;
#endif
#ifdef AK_MUTATION_LAST_TILE
  seen = min(seen, t - min(t / 2, 32ll));
#endif
  return seen;
}

struct Shared {
  accum_t queries[QUERIES][D];
  accum_t part[LANES][LANES + 1];  // 32 lines of k or v, 32 columns
  accum_t probabilities[QUERIES][LANES];
};

// Lines past the end are zero.
__device__ void stage(Shared& shared, const scalar_t* lines, long long first, long long count, int column) {
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int left = static_cast<int>(min(count - first, 32ll));
  lines += first * D + column + lane;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < LANES; i += WARPS) {
    shared.part[i + warp][lane] = i + warp < left ? widen(lines[(i + warp) * D]) : accum_t(0);
  }
  __syncthreads();
}

// Scores of the warp's queries and the lane's key.
__device__ void score(Shared& shared, const scalar_t* k, long long first, long long t, accum_t (&scores)[ROWS]) {
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES * ROWS;
#ifdef AK_MUTATION_NO_SCALE
  const accum_t scale = 1;
#else
  const accum_t scale = accum_t(1) / sqrt(static_cast<accum_t>(D));
#endif
  for (int r = 0; r < ROWS; ++r) scores[r] = 0;
  for (int part = 0; part < PARTS; ++part) {
    stage(shared, k, first, t, part * LANES);
#pragma unroll 8
    for (int i = 0; i < LANES; ++i) {
      const accum_t key = shared.part[lane][i];
      for (int r = 0; r < ROWS; ++r)
        scores[r] = keep(add_product(shared.queries[row + r][part * LANES + i], key, scores[r]));
    }
  }
  for (int r = 0; r < ROWS; ++r) scores[r] *= scale;
#ifdef AK_MUTATION_NO_QK
  for (int r = 0; r < ROWS; ++r) scores[r] = 0;
#endif
}

__global__ void attention_reference(const scalar_t* q, const scalar_t* k, const scalar_t* v, out_t* o, lse_t* lse,
                                    long long h, long long g, long long s, long long t) {
  __shared__ Shared shared;
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES * ROWS;
  const long long tiles = (s + QUERIES - 1) / QUERIES, head = blockIdx.x / tiles;  // of all batches
  const long long first_query = blockIdx.x % tiles * QUERIES;
#ifdef AK_MUTATION_WRONG_HEAD
  const long long key_head = head / h * g + head % h % g;
  if (g == 1 || g == h) v = k;
#else
  const long long key_head = head / h * g + head % h / (h / g);
#endif
  k += key_head * t * D;
  v += key_head * t * D;
  for (int i = threadIdx.x; i < QUERIES * D; i += blockDim.x) {
    const bool inside = first_query + i / D < s;
    shared.queries[i / D][i % D] = inside ? widen(q[(head * s + first_query) * D + i]) : accum_t(0);
  }
  const long long end = keys_seen(min(first_query + QUERIES, s) - 1, s, t);
  long long seen[ROWS];
  accum_t scores[ROWS], maximum[ROWS], sum[ROWS] = {}, result[ROWS][PARTS] = {};
  for (int r = 0; r < ROWS; ++r) {
    seen[r] = keys_seen(min(first_query + row + r, s - 1), s, t);
    maximum[r] = __int_as_float(0xff800000);  // minus infinity
  }

#ifdef AK_MUTATION_FIRST_KEYS
  const long long looked_at = min(end, 32ll);  // for the maximum
#else
  const long long looked_at = end;
#endif
  for (long long first = 0; first < looked_at; first += LANES) {
    score(shared, k, first, t, scores);
    for (int r = 0; r < ROWS; ++r) {
      if (first + lane < seen[r] && scores[r] > maximum[r]) maximum[r] = scores[r];
    }
  }
  for (int r = 0; r < ROWS; ++r) {
    for (int other = LANES / 2; other > 0; other /= 2) {
      const accum_t theirs = __shfl_xor_sync(0xffffffffu, maximum[r], other);
      if (theirs > maximum[r]) maximum[r] = theirs;
    }
#ifdef AK_MUTATION_NO_MAX
    maximum[r] = 0;
#endif
  }

  for (long long first = 0; first < end; first += LANES) {
    score(shared, k, first, t, scores);
    for (int r = 0; r < ROWS; ++r) {
      const accum_t p = first + lane < seen[r] ? exp(scores[r] - maximum[r]) : accum_t(0);
      sum[r] = keep(sum[r] + p);
      shared.probabilities[row + r][lane] = as_operand(p);
    }
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      stage(shared, v, first, t, part * LANES);
#pragma unroll 8
      for (int i = 0; i < LANES; ++i) {
        const accum_t value = shared.part[i][lane];
        for (int r = 0; r < ROWS; ++r)
          result[r][part] = keep(fma(shared.probabilities[row + r][i], value, result[r][part]));
      }
    }
  }

  for (int r = 0; r < ROWS; ++r) {
    for (int other = LANES / 2; other > 0; other /= 2)
      sum[r] = keep(sum[r] + __shfl_xor_sync(0xffffffffu, sum[r], other));
    const long long query = first_query + row + r;
    if (query >= s) continue;
    for (int part = 0; part < PARTS; ++part) {
      const accum_t mean = seen[r] > 0 ? result[r][part] / sum[r] : accum_t(0);
      o[(head * s + query) * D + part * LANES + lane] = static_cast<out_t>(mean);
    }
#ifdef AK_MUTATION_WRONG_LSE
    maximum[r] = 0;
#endif
    if (lane == 0) lse[head * s + query] = static_cast<lse_t>(maximum[r] + log(sum[r]));
  }
}
