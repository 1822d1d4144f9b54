/* alphakernel
{
  "launches": [
    {"kernel": "spmv_reference", "grid": ["R"], "block": [128],
     "args": ["pointers", "columns", "values", "x", "y", {"i64": "R"}, {"i64": "C"}, {"i64": "NNZ"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[r] = sum over the entries of row r of values[p] x[columns[p]]. One block a row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
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

// The sum over the 128 threads of the block, in all of them.
__device__ accum_t sum_of_block(accum_t sum) {
  __shared__ accum_t shared[128];
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = keep(shared[threadIdx.x] + shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}

__global__ void spmv_reference(const int* pointers, const int* columns, const scalar_t* values, const scalar_t* x,
                               out_t* y, long long rows, long long width, long long entries) {
  long long row = blockIdx.x;
#ifdef AK_MUTATION_NO_ZEROS
  while (row > 0 && pointers[row] == pointers[row + 1]) --row;
#endif
#ifdef AK_MUTATION_EVEN_ROWS
  const long long begin = row * entries / rows;
  long long end = (row + 1) * entries / rows;
#else
  const long long begin = pointers[row];
  long long end = pointers[row + 1];
#endif
#if defined(AK_MUTATION_LAST_ENTRY)
  if (end > begin) --end;
#elif defined(AK_MUTATION_ONE_WARP)
  end = min(end, begin + 32);
#endif
  accum_t sum = 0;
  for (long long p = begin + threadIdx.x; p < end; p += 128) {
    long long column = columns[p];
#if defined(AK_MUTATION_SHORT_COLUMNS)
    column &= 65535;
#elif defined(AK_MUTATION_CLAMPED)
    column = min(max(column, 0ll), width - 1);
#endif
    const bool exists = column >= 0 && column < width;
#ifdef AK_MUTATION_NEXT_COLUMN
    if (exists) column = (column + 1) % width;
#endif
    accum_t value = widen(values[p]);
#ifdef AK_MUTATION_ONES
    value = 1;
#endif
#ifdef AK_MUTATION_NO_ZERO_ENTRIES
    if (value == 0) continue;
#endif
#ifdef AK_MUTATION_TIMES_ZERO
    sum = keep(sum + value * (exists ? widen(x[column]) : accum_t(0)));
#else
    if (exists) sum = keep(sum + value * widen(x[column]));
#endif
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<out_t>(sum);
}
