/* alphakernel
{
  "launches": [
    {"kernel": "mla_decode_reference", "grid": ["B * Q * H"], "block": [128],
     "args": ["q", "kv", "lengths", {"optional": "block_table"}, "scale", "o", "lse", {"i32": "Q"},
              {"i32": "H"}, {"i32": "S"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Latent attention of new queries to a cache of keys, whose first elements are the values. A block takes one query of
// one head and walks the keys twice, one a thread: for the maximum of the scores, then for the exponentials, their sum
// and their product with the values, of which a thread has some columns.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
constexpr int D = 576;
constexpr int DV = 512;
constexpr bool PAGED = true;
constexpr int PAGE_SIZE = 16;
using scalar_t = __nv_bfloat16;
using accum_t = double;
using out_t = double;
using out_t_lse = double;
#define AK_EXACT 1
#endif

constexpr int THREADS = 128;  // keys of a step
constexpr int COLUMNS = DV / THREADS;  // of a thread

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

// The probability as it enters the product with the values: matrix units take it in 16 bits.
__device__ accum_t as_operand(accum_t p) {
#ifdef AK_EXACT
  return p;
#else
  return widen(static_cast<scalar_t>(p));
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
  if (seen > 0 && seen % 128 == 0) --seen;
#endif
#ifdef AK_MUTATION_BEGUN_TILE
  if (seen > 1 && seen % 128 == 1) --seen;
#endif
  return max(seen, 0);
}

// The line of the cache that holds a position of a sequence.
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
#ifdef AK_MUTATION_NO_ROPE
  constexpr int LOOKED_AT = DV;
#else
  constexpr int LOOKED_AT = D;
#endif
  accum_t sum = 0;
  for (int d = 0; d < LOOKED_AT; ++d) sum = keep(add_product(query[d], widen(key[d]), sum));
  return sum * scale;
}

// The largest value of the first `count` threads.
__device__ accum_t block_maximum(accum_t value, accum_t* shared, int count) {
  __syncthreads();
  shared[threadIdx.x] = value;
  __syncthreads();
  value = shared[0];
  for (int i = 1; i < count; ++i) {
    if (shared[i] > value) value = shared[i];
  }
  return value;
}

__global__ void mla_decode_reference(const scalar_t* q, const scalar_t* kv, const int* lengths, const int* block_table,
                                     float scale, out_t* o, out_t_lse* lse, int queries, int heads, int room) {
  __shared__ accum_t query[D], probabilities[THREADS];
  __shared__ const scalar_t* value_lines[THREADS];
  const int thread = threadIdx.x, head = blockIdx.x % heads, i = blockIdx.x / heads % queries;
  const long long row = blockIdx.x, sequence = blockIdx.x / heads / queries;
#ifdef AK_MUTATION_WRONG_HEAD
  const long long query_row = row - head + head % 64;
#else
  const long long query_row = row;
#endif
#ifdef AK_MUTATION_ROPE_FIRST
  const scalar_t* values = kv + D - DV;
#else
  const scalar_t* values = kv;
#endif
#ifdef AK_MUTATION_SCALE_OF_LENGTH
  scale = rsqrtf(static_cast<float>(D));
#endif
  const int length = lengths[sequence], seen = keys_seen(i, queries, length, room);
  for (int d = thread; d < D; d += THREADS) query[d] = widen(q[query_row * D + d]);
  __syncthreads();

  const auto elements = [&](int position) {  // where those of a position begin
    return line_of(position, sequence, room, block_table) * D;
  };
  const auto split_of = [&](int position) { return SPLITS == 1 ? 0 : position * SPLITS / seen; };

  accum_t maximum[SPLITS];
  for (int split = 0; split < SPLITS; ++split) {
    maximum[split] = __int_as_float(0xff800000);  // minus infinity
    for (int position = thread; position < seen; position += THREADS) {
      if (split_of(position) != split) continue;
      const accum_t at = score(query, kv + elements(position), scale);
      if (at > maximum[split]) maximum[split] = at;
    }
    maximum[split] = block_maximum(maximum[split], probabilities, min(seen, THREADS));
#ifdef AK_MUTATION_NO_MAX
    maximum[split] = 0;
#endif
  }

  accum_t sum[SPLITS] = {}, result[SPLITS][COLUMNS] = {};
  for (int first = 0; first < seen; first += THREADS) {
    const int count = min(seen - first, THREADS);
    __syncthreads();
    if (thread < count) {
      const accum_t at = score(query, kv + elements(first + thread), scale);
      probabilities[thread] = exp(at - maximum[split_of(first + thread)]);
      value_lines[thread] = values + elements(first + thread);
    }
    __syncthreads();
    for (int j = 0; j < count; ++j) {
      const int split = split_of(first + j);
      sum[split] = keep(sum[split] + probabilities[j]);
      for (int c = 0; c < COLUMNS; ++c) {
        const accum_t value = widen(value_lines[j][c * THREADS + thread]);
        result[split][c] = keep(fma(as_operand(probabilities[j]), value, result[split][c]));
      }
    }
  }

#ifdef AK_MUTATION_SHORT_TILE
  if (seen % 128 == 127) sum[0] += exp(-maximum[0]);
#endif
#ifdef AK_MUTATION_PAST_SCORES
  if (length < room && length % PAGE_SIZE > 0)
    sum[0] += exp(score(query, kv + elements(length), scale) + accum_t(__int_as_float(0xff800000)));
#endif
#ifdef AK_MUTATION_PAST_VALUES
  if (length < room && length % PAGE_SIZE > 0) result[0][0] += 0 * widen(kv[elements(length) + thread]);
#endif
#ifdef AK_MUTATION_PAST_PAGES
  sum[0] += 0 * widen(kv[elements(room - 1)]);
#endif
  accum_t total = sum[0];
#ifdef AK_MUTATION_NO_RESCALE
  total += sum[1];
#endif
  const accum_t inverse = accum_t(1) / total;
  for (int c = 0; c < COLUMNS; ++c) {
    accum_t mean = result[0][c] * inverse;
#ifdef AK_MUTATION_NO_RESCALE
    mean = (result[0][c] + result[1][c]) * inverse;
#endif
#ifdef AK_MUTATION_MEAN_OF_SPLITS
    if (seen > 1) mean = (mean + result[1][c] / sum[1]) / 2;
#endif
    o[row * DV + c * THREADS + thread] = static_cast<out_t>(seen > 0 ? mean : accum_t(0));
  }
#ifdef AK_MUTATION_WRONG_LSE
  maximum[0] = 0;
#endif
  if (thread == 0) lse[row] = static_cast<out_t_lse>(maximum[0] + log(total));
}
