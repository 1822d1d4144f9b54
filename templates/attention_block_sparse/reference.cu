/* alphakernel
{
  "launches": [
    {"kernel": "attention_reference", "grid": ["ceil_div(S, 16) * H * B"], "block": [128],
     "args": ["q", "k", "v", "partial_count", "full_count", "columns", "o", "lse", {"i64": "H"}, {"i64": "G"},
              {"i64": "S"}, {"i64": "T"}, {"i64": "R"}, {"i64": "C"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Attention to the blocks of keys that lists name. A thread block takes 16 queries of one head, which have the same
// list, and walks its keys twice, 32 at a time: for the maximum, then for the exponentials, their sum and their product
// with v. A warp has four of the queries; its lanes are the keys of a tile, and the columns of what is staged of v.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
constexpr int D = 128;
constexpr int BLOCK = 128;
using scalar_t = __nv_bfloat16;
using accum_t = double;
using out_t = double;
using out_t_lse = double;
#define AK_EXACT 1
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

// The list of a block of queries: `partial` partial blocks, then full ones, `count` in all.
struct List {
  const int* columns;
  long long partial, count, rows, row;
  __device__ List(const int* partial_count, const int* full_count, const int* all, long long head, long long row_,
                  long long rows_, long long width)
      : rows(rows_), row(row_) {
#ifdef AK_MUTATION_FIRST_LIST
    head = 0;
#endif
    const long long counts = head * rows + row;
    partial = partial_count[counts];
    count = partial + full_count[counts];
#ifdef AK_MUTATION_NEXT_ROW
    row = (row + 1) % rows;
#endif
    columns = all + (head * rows + row) * width;
  }
  // First key of tile `tile`, of BLOCK / 32 a block.
  __device__ long long first_key(long long tile) const {
    long long entry = tile / (BLOCK / LANES);
#ifdef AK_MUTATION_NEXT_ROW
    if (rows == 1) entry = count - 1 - entry;
#endif
#ifdef AK_MUTATION_FIRST_BLOCKS
    return tile * LANES;
#else
    return static_cast<long long>(columns[entry]) * BLOCK + tile % (BLOCK / LANES) * LANES;
#endif
  }
  __device__ long long begin() const {  // of the tiles
#ifdef AK_MUTATION_NO_PARTIAL
    return partial * (BLOCK / LANES);
#else
    return 0;
#endif
  }
  __device__ long long end() const {
#ifdef AK_MUTATION_LAST_BLOCK
    return (count - 1) * (BLOCK / LANES);
#else
    return count * (BLOCK / LANES);
#endif
  }
  // Whether a query at this position sees a key of a tile.
  __device__ bool sees(long long tile, long long position, long long key) const {
    const bool whole = tile / (BLOCK / LANES) >= partial;
#ifdef AK_MUTATION_NO_MASK
    return true;
#elif defined(AK_MUTATION_MASK_BY_ONE)
    return whole || key <= position + 1;
#elif defined(AK_MUTATION_MASK_FULL)
    return key <= position;
#else
    return whole || key <= position;
#endif
  }
};

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
}

__global__ void attention_reference(const scalar_t* q, const scalar_t* k, const scalar_t* v, const int* partial_count,
                                    const int* full_count, const int* columns, out_t* o, out_t_lse* lse, long long h,
                                    long long g, long long s, long long t, long long rows, long long width) {
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
  const List list(partial_count, full_count, columns, head % h, first_query / BLOCK, rows, width);
  accum_t scores[ROWS], maximum[ROWS], sum[ROWS] = {}, result[ROWS][PARTS] = {};
  for (int r = 0; r < ROWS; ++r) maximum[r] = __int_as_float(0xff800000);  // minus infinity
  const auto sees = [&](long long tile, int r, long long key) {
    return key < t && list.sees(tile, first_query + row + r + t - s, key);
  };

  for (long long tile = list.begin(); tile < list.end(); ++tile) {
    const long long first = list.first_key(tile);
    if (first >= t) continue;
    score(shared, k, first, t, scores);
    for (int r = 0; r < ROWS; ++r) {
      if (sees(tile, r, first + lane) && scores[r] > maximum[r]) maximum[r] = scores[r];
    }
  }
  for (int r = 0; r < ROWS; ++r) {
    for (int other = LANES / 2; other > 0; other /= 2) {
      const accum_t theirs = __shfl_xor_sync(0xffffffffu, maximum[r], other);
      if (theirs > maximum[r]) maximum[r] = theirs;
    }
  }

  for (long long tile = list.begin(); tile < list.end(); ++tile) {
    const long long first = list.first_key(tile);
    if (first >= t) continue;
    score(shared, k, first, t, scores);
    for (int r = 0; r < ROWS; ++r) {
      const accum_t p = sees(tile, r, first + lane) ? exp(scores[r] - maximum[r]) : accum_t(0);
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

#ifdef AK_MUTATION_PAST_LIST
  for (long long tile = list.end(); tile < width * (BLOCK / LANES); ++tile) sum[0] += 0 * widen(k[list.first_key(tile) * D]);
#endif

  for (int r = 0; r < ROWS; ++r) {
    for (int other = LANES / 2; other > 0; other /= 2)
      sum[r] = keep(sum[r] + __shfl_xor_sync(0xffffffffu, sum[r], other));
    const long long query = first_query + row + r;
    if (query >= s) continue;
    for (int part = 0; part < PARTS; ++part) {
      const accum_t mean = sum[r] > 0 ? result[r][part] / sum[r] : accum_t(0);
      o[(head * s + query) * D + part * LANES + lane] = static_cast<out_t>(mean);
    }
#ifdef AK_MUTATION_BINARY_LSE
    const accum_t unit = accum_t(0.6931471805599453);
#else
    const accum_t unit = 1;
#endif
    if (lane == 0) lse[head * s + query] = static_cast<out_t_lse>((maximum[r] + log(sum[r])) / unit);
  }
}
