/* alphakernel
{
  "launches": [
    {"kernel": "block_sparse_reference", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": [16, 16],
     "args": ["x", "pointers", "columns", "values", "y", {"i64": "M"}, {"i64": "NB"}, {"i64": "KB"}, {"i64": "NNZ"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, r B + i] = sum over the blocks p of row r, and over j, of x[m, columns[p] B + j] values[p, i, j]. One result a
// thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/plain_product.cuh>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
constexpr int B = 128;
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

// Where a row of blocks begins; within the list whatever the pointers say.
__device__ long long begin_of(const int* pointers, long long row, long long rows, long long entries) {
#ifdef AK_MUTATION_EVEN_ROWS
  return row * entries / rows;
#else
  return min(max(static_cast<long long>(pointers[row]), 0ll), entries);
#endif
}

__global__ void block_sparse_reference(const scalar_t* x, const int* pointers, const int* columns, const scalar_t* values,
                                       out_t* y, long long m, long long rows, long long width, long long entries) {
  const long long line = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  const long long row = blockIdx.x * 16ll / B, within = blockIdx.x * 16ll % B + threadIdx.y;  // that this thread loads
  const long long begin = begin_of(pointers, row, rows, entries);
  long long end = begin_of(pointers, row + 1, rows, entries);
#ifdef AK_MUTATION_LAST_BLOCK
  --end;
#endif
#ifdef AK_MUTATION_SKIPPED_ROW
  if (row == rows - 1) end = begin;
#endif
#ifdef AK_MUTATION_LAST_OF_BLOCK
  constexpr int kEnd = B - 16;
#else
  constexpr int kEnd = B;
#endif
#ifdef AK_MUTATION_TIMES_ZERO
  const long long behind = min(end + 1, entries);
#else
  const long long behind = end;
#endif
  accum_t sum = 0;
  for (long long entry = begin; entry < behind; ++entry) {
    long long at = min(max(columns[entry], 0), static_cast<int>(width) - 1);
#ifdef AK_MUTATION_NEXT_COLUMN
    at = (at + 1) % width;
#endif
    const scalar_t* from = x + (line * width + at) * B;
    ak::plain_product<accum_t>(
        kEnd, line < m, [&](long long j) { return line < m ? widen(from[j]) : accum_t(0); },
        [&](long long j) {
#ifdef AK_MUTATION_TRANSPOSED
          const long long place = j * B + within;
#else
          const long long place = within * B + j;
#endif
          return widen(values[entry * B * B + place]);
        },
        [&](long long, accum_t left, accum_t right) { sum = keep(sum + (entry < end ? left * right : 0 * left * right)); });
  }
  if (line >= m) return;
  y[line * rows * B + column] = static_cast<out_t>(sum);
}
