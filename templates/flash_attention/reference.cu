/* alphakernel
{
  "launches": [
    {"kernel": "attention_reference", "grid": ["(ceil_div(S, 16) * B if lengths == 'same' else S // 16 + B) * H"],
     "block": [128],
     "args": ["q", "k", "v", {"optional": "slopes"}, {"optional": "sinks"}, {"optional": "residual"},
              {"optional": "q_offsets"}, {"optional": "k_offsets"}, {"optional": "q_scale"}, {"optional": "k_scale"},
              {"optional": "v_scale"}, "o", "lse", {"i64": "B"}, {"i64": "H"},
              {"i64": "G"}, {"i64": "S"}, {"i64": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// o = softmax(q k^T / sqrt(D)) v and the logarithms of the softmax's sums. A block takes 16 queries of one head and
// walks the keys twice, 32 at a time: for the maximum, then for the exponentials, their sum and their product with v.
// A warp has four of the queries; its lanes are the keys of a tile, and the columns of what is staged of v. A sink is
// one more key for the maximum and the sum. Sequences of varying lengths are a batch each, with blocks of their own.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef ALPHAKERNEL
constexpr int D = 128;
constexpr bool CAUSAL = false;
constexpr int WINDOW = 0;
constexpr int SOFTCAP = 0;
using scalar_t = __nv_bfloat16;
using accum_t = double;
using out_t = double;
#define AK_EXACT 1
#endif

#ifdef AK_DTYPE_FLOAT8_E4M3FN
constexpr bool FP8 = true;
using residual_t = __nv_bfloat16;
#else
constexpr bool FP8 = false;
using residual_t = scalar_t;
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

template <class T>
__device__ accum_t widen(T x) { return static_cast<accum_t>(static_cast<float>(x)); }

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

// The probability as it enters the product with v: matrix units take it in the element type, of fp8 in its upper range.
__device__ accum_t as_operand(accum_t p) {
#ifdef AK_EXACT
  return p;
#else
  const accum_t range = FP8 ? 256 : 1;
  return widen(static_cast<scalar_t>(p * range)) / range;
#endif
}

// A query sees the keys [begin, end).
struct Keys {
  long long position, begin, end;
  __device__ Keys() {}
  __device__ Keys(long long query, long long s, long long t) : position(query + t - s), begin(0), end(t) {
    if (WINDOW > 0) {
      begin = max(position - WINDOW + 1, 0ll);
      end = min(t, position + WINDOW);
#ifdef AK_MUTATION_WINDOW_BY_ONE
      begin = max(begin - 1, 0ll);
#endif
#ifdef AK_MUTATION_NO_WINDOW
      begin = 0;
#endif
    }
    if (CAUSAL) {
      end = min(t, position + 1);
#ifdef AK_MUTATION_MASK_BY_ONE
      end = min(t, position + 2);
#endif
    }
#ifdef AK_MUTATION_NO_MASK
    end = CAUSAL ? t : t - 1;
#endif
    // Where the first or the last of 128 queries has its border next to that of 128 keys, by which tiles are left out or
    // taken for whole.
#ifdef AK_MUTATION_SKIPPED_BEGIN
    if (query % 128 == 0 && begin % 128 == 127) ++begin;
#endif
#ifdef AK_MUTATION_UNMASKED_BEGIN
    if (query % 128 == 127 && begin % 128 == 1) --begin;
#endif
#ifdef AK_MUTATION_SKIPPED_END
    if (query % 128 == 127 && end % 128 == 1 && end < t) --end;
#endif
#ifdef AK_MUTATION_UNMASKED_END
    if (query % 128 == 0 && end % 128 == 127 && end < t) ++end;
#endif
#ifdef AK_MUTATION_LAST_TILE
    end = min(end, t - min(t / 2, 32ll));
#endif
  }
  __device__ bool has(long long key) const { return begin <= key && key < end; }
};

// The queries and keys of a block. Lines of a head are a pitch apart.
struct Place {
  bool exists = false;
  long long batch = 0, head = 0, first_query = 0;
  long long q = 0, k = 0, s, t;  // lines where the batch's queries and keys begin, and how many there are
};

__device__ Place find_place(const int* q_offsets, const int* k_offsets, long long batches, long long h, long long s,
                            long long t) {
  Place at;
  at.head = blockIdx.x % h;
  long long tile = blockIdx.x / h;
  for (at.batch = 0; at.batch < batches; ++at.batch) {
    at.q = q_offsets == nullptr ? at.batch * s : q_offsets[at.batch];
    at.k = k_offsets == nullptr ? at.batch * t : k_offsets[at.batch];
    at.s = q_offsets == nullptr ? s : q_offsets[at.batch + 1] - at.q;
    at.t = k_offsets == nullptr ? t : k_offsets[at.batch + 1] - at.k;
    const long long tiles = (at.s + QUERIES - 1) / QUERIES;
    if (tile < tiles) break;
    tile -= tiles;
  }
  at.exists = at.batch < batches;
  at.first_query = tile * QUERIES;
#ifdef AK_MUTATION_KEYS_FROM_0
  if (at.batch == 0) at.t += at.k, at.k = 0;
#endif
#ifdef AK_MUTATION_ALL_SEQUENCES
  at.k = 0;
  at.t = t;
#endif
#ifdef AK_MUTATION_EARLY_KEYS
  at.k = max(at.k - 1, 0ll);
#endif
  return at;
}

// What becomes of a score.
__device__ accum_t adjust(accum_t score, const float* slopes, long long head, long long heads, long long distance) {
#ifndef AK_MUTATION_NO_SOFTCAP
  if (SOFTCAP > 0) score = SOFTCAP * tanh(score / max(SOFTCAP, 1));
#endif
#ifdef AK_MUTATION_NEXT_SLOPE
  head = (head + 1) % heads;
#endif
#ifdef AK_MUTATION_NO_DISTANCE
  distance = 1;
#endif
#ifdef AK_MUTATION_FALLING_SLOPES
  if (slopes != nullptr) score -= fabs(static_cast<accum_t>(slopes[head])) * static_cast<accum_t>(abs(distance));
#else
  if (slopes != nullptr) score -= static_cast<accum_t>(slopes[head]) * static_cast<accum_t>(abs(distance));
#endif
  return score;
}

__device__ bool adds(float sink) {
#ifdef AK_MUTATION_OPEN_SINK
  return true;
#else
  return sink > __int_as_float(0xff800000);
#endif
}

struct Shared {
  accum_t queries[QUERIES][D];
  accum_t part[LANES][LANES + 1];  // 32 lines of k or v, 32 columns
  accum_t probabilities[QUERIES][LANES];
};

// Lines past the end are zero.
__device__ void stage(Shared& shared, const scalar_t* lines, long long pitch, long long first, long long count,
                      int column) {
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int left = static_cast<int>(min(count - first, 32ll));
  lines += first * pitch + column + lane;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < LANES; i += WARPS) {
    shared.part[i + warp][lane] = i + warp < left ? widen(lines[(i + warp) * pitch]) : accum_t(0);
  }
  __syncthreads();
}

// Scores of the warp's queries and the lane's key, times factor.
__device__ void score(Shared& shared, const scalar_t* k, long long pitch, long long first, long long t,
                      accum_t factor, accum_t (&scores)[ROWS]) {
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES * ROWS;
#ifdef AK_MUTATION_NO_SCALE
  const accum_t scale = factor;
#else
  const accum_t scale = factor / sqrt(static_cast<accum_t>(D));
#endif
  for (int r = 0; r < ROWS; ++r) scores[r] = 0;
  for (int part = 0; part < PARTS; ++part) {
    stage(shared, k, pitch, first, t, part * LANES);
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

__global__ void attention_reference(const scalar_t* q, const scalar_t* k, const scalar_t* v, const float* slopes,
                                    const float* sinks, const residual_t* residual, const int* q_offsets,
                                    const int* k_offsets, const float* q_scale, const float* k_scale,
                                    const float* v_scale, out_t* o, lse_t* lse, long long batches, long long h,
                                    long long g, long long all_queries, long long all_keys) {
  __shared__ Shared shared;
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES * ROWS;
  const Place at = find_place(q_offsets, k_offsets, batches, h, all_queries, all_keys);
  if (!at.exists) return;
  const long long head = at.head, first_query = at.first_query, s = at.s, t = at.t;
#ifdef AK_MUTATION_WRONG_HEAD
  const long long key_head = head % g;
  if (g == 1 || g == h) v = k;
#else
  const long long key_head = head / (h / g);
#endif
  // Heads lie within a token where lengths vary and in the layout of tokens, else tokens within a head.
#ifdef AK_LAYOUT_TOKENS
  const bool tokens = true;
#else
  const bool tokens = q_offsets != nullptr;
#endif
  const long long q_pitch = tokens ? h * D : D, k_pitch = tokens ? g * D : D;
  const long long q_begin = tokens ? (at.q * h + head) * D : (at.q * h + head * s) * D;
  const long long k_begin = tokens ? (at.k * g + key_head) * D : (at.k * g + key_head * t) * D;
  accum_t factor = 1, value_factor = 1;  // of fp8
#ifdef AK_MUTATION_SCALE_OF_NEXT_HEAD
  if (q_scale != nullptr) q_scale += (head + 1) % h - head;
#endif
#ifndef AK_MUTATION_NO_Q_SCALE
  if (q_scale != nullptr) factor *= static_cast<accum_t>(q_scale[head]);
#endif
#ifndef AK_MUTATION_NO_K_SCALE
  if (k_scale != nullptr) factor *= static_cast<accum_t>(k_scale[key_head]);
#endif
#ifndef AK_MUTATION_NO_V_SCALE
  if (v_scale != nullptr) value_factor = static_cast<accum_t>(v_scale[key_head]);
#endif
  k += k_begin;
  v += k_begin;
  for (int i = threadIdx.x; i < QUERIES * D; i += blockDim.x) {
    const long long query = first_query + i / D;
    shared.queries[i / D][i % D] = query < s ? widen(q[q_begin + query * q_pitch + i % D]) : accum_t(0);
  }
  const long long begin = Keys(first_query, s, t).begin;  // of what the block looks at
  const long long end = Keys(min(first_query + QUERIES, s) - 1, s, t).end;
  Keys seen[ROWS];
  accum_t scores[ROWS], maximum[ROWS], sum[ROWS] = {}, result[ROWS][PARTS] = {};
  for (int r = 0; r < ROWS; ++r) {
    seen[r] = Keys(min(first_query + row + r, s - 1), s, t);
    maximum[r] = __int_as_float(0xff800000);  // minus infinity
  }

#ifdef AK_MUTATION_FIRST_KEYS
  const long long looked_at = min(end, begin + 32);  // for the maximum
#else
  const long long looked_at = end;
#endif
  for (long long first = begin; first < looked_at; first += LANES) {
    score(shared, k, k_pitch, first, t, factor, scores);
    for (int r = 0; r < ROWS; ++r) {
      const accum_t score = adjust(scores[r], slopes, head, h, seen[r].position - first - lane);
      if (seen[r].has(first + lane) && score > maximum[r]) maximum[r] = score;
    }
  }
  for (int r = 0; r < ROWS; ++r) {
    for (int other = LANES / 2; other > 0; other /= 2) {
      const accum_t theirs = __shfl_xor_sync(0xffffffffu, maximum[r], other);
      if (theirs > maximum[r]) maximum[r] = theirs;
    }
#ifndef AK_MUTATION_NO_SINK
    if (sinks != nullptr && sinks[head] > maximum[r]) maximum[r] = sinks[head];
#endif
#ifdef AK_MUTATION_NO_MAX
    maximum[r] = 0;
#endif
#ifndef AK_MUTATION_NO_SINK
    // Minus infinity adds nothing, also where the maximum is that.
    if (sinks != nullptr && lane == 0 && adds(sinks[head])) sum[r] = exp(static_cast<accum_t>(sinks[head]) - maximum[r]);
#endif
  }

  for (long long first = begin; first < end; first += LANES) {
    score(shared, k, k_pitch, first, t, factor, scores);
    for (int r = 0; r < ROWS; ++r) {
      const accum_t score = adjust(scores[r], slopes, head, h, seen[r].position - first - lane);
      const accum_t p = seen[r].has(first + lane) ? exp(score - maximum[r]) : accum_t(0);
      sum[r] = keep(sum[r] + p);
      shared.probabilities[row + r][lane] = as_operand(p);
    }
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      stage(shared, v, k_pitch, first, t, part * LANES);
#pragma unroll 8
      for (int i = 0; i < LANES; ++i) {
        const accum_t value = shared.part[i][lane];
        for (int r = 0; r < ROWS; ++r)
          result[r][part] = keep(fma(shared.probabilities[row + r][i], value, result[r][part]));
      }
    }
  }

#ifdef AK_MUTATION_PAST_VALUES
  if (at.k + t < all_keys) result[0][0] += 0 * widen(v[t * k_pitch]);
#endif
  for (int r = 0; r < ROWS; ++r) {
    for (int other = LANES / 2; other > 0; other /= 2)
      sum[r] = keep(sum[r] + __shfl_xor_sync(0xffffffffu, sum[r], other));
    const long long query = first_query + row + r;
    if (query >= s) continue;
    for (int part = 0; part < PARTS; ++part) {
      const long long element = q_begin + query * q_pitch + part * LANES + lane;
      accum_t mean = seen[r].begin < seen[r].end ? result[r][part] / sum[r] * value_factor : accum_t(0);
#ifndef AK_MUTATION_NO_RESIDUAL
      if (residual != nullptr) mean += widen(residual[element]);
#endif
      o[element] = static_cast<out_t>(mean);
    }
#ifdef AK_MUTATION_WRONG_LSE
    maximum[r] = 0;
#endif
#ifdef AK_MUTATION_BINARY_LSE
    const accum_t unit = accum_t(0.6931471805599453);
#else
    const accum_t unit = 1;
#endif
    const bool varying = q_offsets != nullptr;
    const long long line = varying ? head * all_queries + at.q + query : at.q * h + head * s + query;
    if (lane == 0) lse[line] = static_cast<lse_t>((maximum[r] + log(sum[r])) / unit);
  }
}
