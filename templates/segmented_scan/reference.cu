/* alphakernel
{
  "let": {
    "PART": "max(16, ceil_div(N, 16384))",
    "PARTS": "ceil_div(N, PART)"
  },
  "workspace": [
    {"name": "sums", "dtype": "float64", "count": "PARTS"},
    {"name": "starts", "dtype": "int32", "count": "PARTS"}
  ],
  "launches": [
    {"kernel": "sum_parts", "grid": ["ceil_div(PARTS, 64)"], "block": [64],
     "args": ["x", "keys", "sums", "starts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}]},
    {"kernel": "carry_sums", "grid": [1], "block": [1], "args": ["sums", "starts", {"i64": "PARTS"}]},
    {"kernel": "write_parts", "grid": ["ceil_div(PARTS, 64)"], "block": [64],
     "args": ["x", "keys", "sums", "y", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"bool": "exclusive"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The sum from the last start of a segment in each part, or from the part's beginning, one thread a part; what is carried
// into each part, one thread; then the results. A part is summed from 0 on and added to what is carried, or small elements
// would be lost one by one next to a large sum.

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

// Element i.
__device__ accum_t read(const scalar_t* x, long long i, long long n) {
#ifdef AK_MUTATION_NO_TAIL
  if (i >= n / 4 * 4) return accum_t(0);
#endif
  return static_cast<accum_t>(x[i]);
}

// Whether element i begins a segment.
__device__ bool starts_at(const int* keys, long long i) {
#ifdef AK_MUTATION_LATE_START
  if (i <= 1) return i == 0;
  --i;
#endif
  if (i == 0) return true;
#if defined(AK_MUTATION_NO_SEGMENTS)
  return false;
#elif defined(AK_MUTATION_RISING_KEYS)
  return keys[i] > keys[i - 1];
#elif defined(AK_MUTATION_SHORT_KEYS)
  return (keys[i] & 65535) != (keys[i - 1] & 65535);
#elif defined(AK_MUTATION_FLOAT_KEYS)
  return static_cast<float>(keys[i]) != static_cast<float>(keys[i - 1]);
#else
  return keys[i] != keys[i - 1];
#endif
}

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

// What is left of a sum where a segment begins.
__device__ accum_t cleared(accum_t sum) {
#ifdef AK_MUTATION_TIMES_ZERO
  return accum_t(0) * sum;
#else
  return accum_t(0);
#endif
}

__device__ out_t result(accum_t sum) {
#ifdef AK_DTYPE_INT32
  return static_cast<out_t>(static_cast<int>(static_cast<unsigned int>(sum)));
#else
  return static_cast<out_t>(sum);
#endif
}

__global__ void sum_parts(const scalar_t* x, const int* keys, accum_t* sums, int* starts, long long n, long long part,
                          long long parts) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i >= parts) return;
  const long long first = i * part, last = min(first + part, n);
  accum_t sum = 0;
  bool any = false;
  for (long long c = first; c < last; ++c) {
    const bool start = starts_at(keys, c);
    sum = keep((start ? cleared(sum) : sum) + read(x, c, n));
    any = any || start;
  }
  sums[i] = sum;
  starts[i] = any;
}

__global__ void carry_sums(accum_t* sums, int* starts, long long parts) {
  accum_t carried = 0;
  for (long long i = 0; i < parts; ++i) {
    const accum_t sum = sums[i];
#if defined(AK_MUTATION_NO_CARRY)
    sums[i] = 0;
#elif defined(AK_MUTATION_LAST_PART)
    sums[i] = carried;
    carried = sum;
#elif defined(AK_MUTATION_CARRY_OVER_STARTS)
    sums[i] = carried;
    carried = keep(carried + sum);
#else
    sums[i] = carried;
    carried = keep((starts[i] ? cleared(carried) : carried) + sum);
#endif
  }
}

__global__ void write_parts(const scalar_t* x, const int* keys, const accum_t* sums, out_t* y, long long n, long long part,
                            long long parts, bool exclusive) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i >= parts) return;
  const long long first = i * part, last = min(first + part, n);
  accum_t carried = sums[i], within = 0;
#ifdef AK_MUTATION_OTHER_KIND
  exclusive = !exclusive;
#endif
  for (long long c = first; c < last; ++c) {
    if (starts_at(keys, c)) {
      carried = cleared(carried);
      within = cleared(within);
    }
    const accum_t before = within;
    within = keep(within + read(x, c, n));
    y[c] = result(keep(carried + (exclusive ? before : within)));
  }
}
