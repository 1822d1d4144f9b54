/* alphakernel
{
  "launches": [
    {"kernel": "attention_decode_reference", "grid": ["B * Q * HQ"], "block": [128],
     "args": ["q", "k", "v", "lengths", {"optional": "block_table"}, {"optional": "k_scale"}, {"optional": "v_scale"}, "o",
              {"optional": "lse"}, {"i32": "Q"}, {"i32": "HQ"}, {"i32": "HKV"}, {"i32": "S"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Attention of new queries to a cache of keys and values. A block takes one query of one head and walks the keys twice,
// one a thread: for the maximum of the scores, then for the exponentials, their sum and their product with the values,
// for which a thread takes one or two columns.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef ALPHAKERNEL
constexpr int D = 128;
constexpr bool PAGED = true;
constexpr int PAGE_SIZE = 16;
using scalar_t = __nv_bfloat16;
using accum_t = double;
using out_t = double;
using out_t_lse = double;
#define AK_EXACT 1
#endif

#ifdef AK_DTYPE_FLOAT8_E4M3FN
using query_t = __nv_bfloat16;
#else
using query_t = scalar_t;
#endif

constexpr int THREADS = 128;  // keys of a step
constexpr int COLUMNS = (D + THREADS - 1) / THREADS;  // of a thread

#if defined(AK_MUTATION_NO_RESCALE) || defined(AK_MUTATION_MEAN_OF_SPLITS)
constexpr int SPLITS = 2;
#else
constexpr int SPLITS = 1;
#endif

template <class T>
__device__ accum_t widen(T x) {
  return static_cast<accum_t>(static_cast<float>(x));
}

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

// The probability as it enters the product with the values: matrix units take it in the type of the queries.
__device__ accum_t as_operand(accum_t p) {
#ifdef AK_EXACT
  return p;
#else
  return widen(static_cast<query_t>(p));
#endif
}

// Keys that query `i` of a sequence sees: the first so many.
__device__ int keys_seen(int i, int queries, int length, int room) {
#ifdef AK_MUTATION_NO_LENGTHS
  length = room;
#endif
  int seen = length - queries + 1 + i;
#ifdef AK_MUTATION_MASK_BY_ONE
  seen = min(seen + 1, length);
#endif
#ifdef AK_MUTATION_NO_MASK
  seen = length;
#endif
#ifdef AK_MUTATION_LAST_KEY
  seen = min(seen, length - 1);
#endif
#ifdef AK_MUTATION_WHOLE_TILE
  if (seen > 0 && seen % 256 == 0) --seen;
#endif
#ifdef AK_MUTATION_BEGUN_TILE
  if (seen > 1 && seen % 256 == 1) --seen;
#endif
  return max(seen, 0);
}

// The line of k and v that holds a position of a sequence.
__device__ long long line_of(int position, long long sequence, int room, const int* block_table) {
  if (!PAGED) return sequence * room + position;
  const int pages = (room + PAGE_SIZE - 1) / PAGE_SIZE;
  int page = position / PAGE_SIZE, line = position % PAGE_SIZE;
#ifdef AK_MUTATION_NEXT_PAGE
  page = (page + 1) % pages;
  if (pages == 1) line = PAGE_SIZE - 1 - line;
#endif
#ifdef AK_MUTATION_NO_TABLE
  return (sequence * pages + page) * PAGE_SIZE + line;
#else
  return static_cast<long long>(block_table[sequence * pages + page]) * PAGE_SIZE + line;
#endif
}

__device__ accum_t score(const accum_t* query, const scalar_t* key, accum_t scale) {
  accum_t sum = 0;
  for (int d = 0; d < D; ++d) sum = keep(add_product(query[d], widen(key[d]), sum));
  return sum * scale;
}

// The largest value of all threads.
__device__ accum_t block_maximum(accum_t value, accum_t* shared) {
  __syncthreads();
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int i = 0; i < THREADS; ++i) {
    if (shared[i] > value) value = shared[i];
  }
  return value;
}

__global__ void attention_decode_reference(const query_t* q, const scalar_t* k, const scalar_t* v, const int* lengths,
                                           const int* block_table, const float* k_scale, const float* v_scale,
                                           out_t* o, out_t_lse* lse, int queries, int hq, int hkv, int room) {
  __shared__ accum_t query[D], probabilities[THREADS];
  const int thread = threadIdx.x, head = blockIdx.x % hq, i = blockIdx.x / hq % queries;
  const long long row = blockIdx.x, sequence = blockIdx.x / hq / queries;
#ifdef AK_MUTATION_WRONG_HEAD
  const int key_head = head % hkv;
  if (hkv == 1 || hkv == hq) v = k;
#else
  const int key_head = head / (hq / hkv);
#endif
  const int length = lengths[sequence], seen = keys_seen(i, queries, length, room);
  accum_t scale = accum_t(1) / sqrt(static_cast<accum_t>(D)), value_scale = 1;
#ifdef AK_MUTATION_NO_SCALE
  scale = 1;
#endif
#ifndef AK_MUTATION_NO_K_SCALE
  if (k_scale != nullptr) scale *= static_cast<accum_t>(k_scale[key_head]);
#endif
#ifndef AK_MUTATION_NO_V_SCALE
  if (v_scale != nullptr) value_scale = static_cast<accum_t>(v_scale[key_head]);
#endif
  for (int d = thread; d < D; d += THREADS) query[d] = widen(q[row * D + d]);
  __syncthreads();

  const auto elements = [&](int position) {  // where the head's elements of a position begin
    return (line_of(position, sequence, room, block_table) * hkv + key_head) * D;
  };
  const auto split_of = [&](int position) { return position * SPLITS / seen; };

  accum_t maximum[SPLITS];
  for (int split = 0; split < SPLITS; ++split) {
    maximum[split] = __int_as_float(0xff800000);  // minus infinity
    for (int position = thread; position < seen; position += THREADS) {
      if (split_of(position) != split) continue;
      const accum_t at = score(query, k + elements(position), scale);
      if (at > maximum[split]) maximum[split] = at;
    }
    maximum[split] = block_maximum(maximum[split], probabilities);
#ifdef AK_MUTATION_NO_MAX
    maximum[split] = 0;
#endif
  }

  accum_t sum[SPLITS] = {}, result[SPLITS][COLUMNS] = {};
  for (int first = 0; first < seen; first += THREADS) {
    const int count = min(seen - first, THREADS);
    __syncthreads();
    if (thread < count) {
      const accum_t at = score(query, k + elements(first + thread), scale);
      probabilities[thread] = exp(at - maximum[split_of(first + thread)]);
    }
    __syncthreads();
    for (int j = 0; j < count; ++j) {
      const int split = split_of(first + j);
      const long long from = elements(first + j);
      sum[split] = keep(sum[split] + probabilities[j]);
      for (int c = 0; c < COLUMNS; ++c) {
        const int column = c * THREADS + thread;
        if (column >= D) continue;
        result[split][c] = keep(fma(as_operand(probabilities[j]), widen(v[from + column]), result[split][c]));
      }
    }
  }

#ifdef AK_MUTATION_SHORT_TILE
  if (seen % 256 == 255) sum[0] += exp(-maximum[0]);
#endif
#ifdef AK_MUTATION_PAST_SCORES
  if (length < room && length % PAGE_SIZE > 0)
    sum[0] += exp(score(query, k + elements(length), scale) + accum_t(__int_as_float(0xff800000)));
#endif
#ifdef AK_MUTATION_PAST_VALUES
  if (length < room && length % PAGE_SIZE > 0) result[0][0] += 0 * widen(v[elements(length) + thread % D]);
#endif
#ifdef AK_MUTATION_PAST_PAGES
  sum[0] += 0 * widen(k[elements(room - 1)]);
#endif
  accum_t total = sum[0];
#ifdef AK_MUTATION_NO_RESCALE
  total += sum[1];
#endif
  for (int c = 0; c < COLUMNS; ++c) {
    accum_t mean = result[0][c] / total;
#ifdef AK_MUTATION_NO_RESCALE
    mean = (result[0][c] + result[1][c]) / total;
#endif
#ifdef AK_MUTATION_MEAN_OF_SPLITS
    if (seen > 1) mean = (mean + result[1][c] / sum[1]) / 2;
#endif
    if (c * THREADS + thread < D) {
      o[row * D + c * THREADS + thread] = static_cast<out_t>(seen > 0 ? mean * value_scale : accum_t(0));
    }
  }
#ifdef AK_MUTATION_WRONG_LSE
  maximum[0] = 0;
#endif
  if (lse != nullptr && thread == 0) lse[row] = static_cast<out_t_lse>(maximum[0] + log(total));
}
