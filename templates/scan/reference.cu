/* alphakernel
{
  "let": {
    "PART": "max(16, ceil_div(N, 16384))",
    "PARTS": "ceil_div(N, PART)"
  },
  "workspace": [{"name": "sums", "dtype": "float64", "count": "M * PARTS"}],
  "launches": [
    {"kernel": "sum_parts", "grid": ["ceil_div(M * PARTS, 64)"], "block": [64],
     "args": ["x", "sums", {"i64": "M"}, {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}]},
    {"kernel": "carry_sums", "grid": ["ceil_div(M, 64)"], "block": [64], "args": ["sums", {"i64": "M"}, {"i64": "PARTS"}]},
    {"kernel": "write_parts", "grid": ["ceil_div(M * PARTS, 64)"], "block": [64],
     "args": ["x", "sums", "y", {"i64": "M"}, {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"bool": "exclusive"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Sums of parts of rows, one thread a part; what is carried into each part, one thread a row; then the results. A part
// is summed from 0 on and added to what is carried, or small elements would be lost one by one next to a large sum.

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

// Element i of a row.
__device__ accum_t read(const scalar_t* row, long long i, long long n) {
#ifdef AK_MUTATION_BACKWARDS
  i = n - 1 - i;
#endif
#ifdef AK_MUTATION_NO_TAIL
  if (i >= n / 4 * 4) return accum_t(0);
#endif
  return static_cast<accum_t>(row[i]);
}

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#if defined(AK_MUTATION_LOW_PRECISION)
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#elif defined(AK_MUTATION_SATURATED)
  return sum < -2147483647 - 1 ? -2147483647 - 1 : sum > 2147483647 ? 2147483647 : sum;
#else
  return sum;
#endif
}

__device__ out_t result(accum_t sum) {
#ifdef AK_DTYPE_INT32
  return static_cast<out_t>(static_cast<int>(static_cast<unsigned int>(sum)));
#else
  return static_cast<out_t>(sum);
#endif
}

__global__ void sum_parts(const scalar_t* x, accum_t* sums, long long rows, long long n, long long part, long long parts) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i >= rows * parts) return;
  const long long first = i % parts * part, last = min(first + part, n);
  accum_t sum = 0;
  for (long long c = first; c < last; ++c) sum = keep(sum + read(x + i / parts * n, c, n));
  sums[i] = sum;
}

__global__ void carry_sums(accum_t* sums, long long rows, long long parts) {
  const long long row = blockIdx.x * 64ll + threadIdx.x;
  if (row >= rows) return;
  accum_t carried = 0;
#ifdef AK_MUTATION_ACROSS_ROWS
  if (row > 0) carried = sums[row * parts - 1];
#endif
  for (long long i = row * parts; i < (row + 1) * parts; ++i) {
    const accum_t sum = sums[i];
#if defined(AK_MUTATION_NO_CARRY)
    sums[i] = 0;
#elif defined(AK_MUTATION_LAST_PART)
    sums[i] = carried;
    carried = sum;
#else
    sums[i] = carried;
    carried = keep(carried + sum);
#endif
  }
}

__global__ void write_parts(const scalar_t* x, const accum_t* sums, out_t* y, long long rows, long long n, long long part,
                            long long parts, bool exclusive) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i >= rows * parts) return;
  const long long first = i % parts * part, last = min(first + part, n);
  accum_t carried = sums[i], within = 0;
#ifdef AK_MUTATION_OTHER_KIND
  exclusive = !exclusive;
#endif
#ifdef AK_MUTATION_SPREAD_NAN
  for (long long c = first; c < last; ++c) carried += 0 * read(x + i / parts * n, c, n);
#endif
  for (long long c = first; c < last; ++c) {
    const accum_t before = within;
    within = keep(within + read(x + i / parts * n, c, n));
    y[i / parts * n + c] = result(keep(carried + (exclusive ? before : within)));
  }
}
