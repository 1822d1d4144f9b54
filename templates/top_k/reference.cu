/* alphakernel
{
  "launches": [
    {"kernel": "top_k_reference", "grid": ["M"], "block": [256], "args": ["x", "values", "indices", {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The k largest of row m, one after the other: each is the first, in their order, of those behind the one before.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using out_t_values = double;
using out_t_indices = long long;
#endif

// What an element is compared by.
__device__ float read(const scalar_t* row, long long i) {
  const float x = static_cast<float>(row[i]);
#if defined(AK_MUTATION_MAGNITUDES)
  return fabsf(x);
#elif defined(AK_MUTATION_LOW_PRECISION)
  return __uint_as_float(__float_as_uint(x) & 0xffff0000u);
#elif defined(AK_MUTATION_BITS)
  return static_cast<float>(__float_as_int(x));
#else
  return x;
#endif
}

// Whether x at place i comes before y at place j: NaN before numbers, larger before smaller, of equals the first.
__device__ bool comes_before(float x, long long i, float y, long long j) {
#ifdef AK_MUTATION_SIGNED_NAN
  const bool x_nan = x != x && __float_as_int(x) > 0, y_nan = y != y && __float_as_int(y) > 0;
  if (x != x && !x_nan) x = -__int_as_float(0x7f800000);
  if (y != y && !y_nan) y = -__int_as_float(0x7f800000);
#else
  const bool x_nan = x != x, y_nan = y != y;
#endif
#ifdef AK_MUTATION_NAN_LAST
  if (x_nan != y_nan) return y_nan;
#else
  if (x_nan != y_nan) return x_nan;
#endif
  if (!x_nan && x != y) return x > y;
#ifdef AK_MUTATION_SIGNED_ZEROS
  if (x == 0 && signbit(x) != signbit(y)) return signbit(y);
#endif
#if defined(AK_MUTATION_LAST_OF_EQUALS)
  return i > j;
#elif defined(AK_MUTATION_ANY_OF_EQUALS)
  return i % 32 != j % 32 ? i % 32 < j % 32 : i < j;
#else
  return i < j;
#endif
}

// Whether a thread that looks at every 256th element has two that come before place i.
__device__ bool has_two_before(const scalar_t* row, long long n, long long i) {
  int before = 0;
  for (long long j = i % 256; j < n; j += 256) before += comes_before(read(row, j), j, read(row, i), i);
  return before >= 2;
}

// The first of row's n elements behind the one at `after` (of all where that is negative), the same in all threads.
__device__ long long next_of(const scalar_t* row, long long n, long long after) {
  __shared__ long long places[256];
  long long best = -1;
  for (long long i = threadIdx.x; i < n; i += 256) {
#ifdef AK_MUTATION_FEW_A_THREAD
    if (has_two_before(row, n, i)) continue;
#endif
    if (after >= 0 && !comes_before(read(row, after), after, read(row, i), i)) continue;
    if (best < 0 || comes_before(read(row, i), i, read(row, best), best)) best = i;
  }
  places[threadIdx.x] = best;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const long long a = places[threadIdx.x], b = places[threadIdx.x + half];
      if (a < 0 || (b >= 0 && comes_before(read(row, b), b, read(row, a), a))) places[threadIdx.x] = b;
    }
    __syncthreads();
  }
  best = places[0];
  __syncthreads();
  return best;
}

__global__ void top_k_reference(const scalar_t* x, out_t_values* values, out_t_indices* indices, long long n, long long k) {
  const scalar_t* row = x + blockIdx.x * n;
#if defined(AK_MUTATION_LAST_TILE)
  const long long seen = max(k, n - (n < 32 ? n / 2 : 32));
#elif defined(AK_MUTATION_FIRST_COLUMNS)
  const long long seen = n < 256 ? n : 256;
#else
  const long long seen = n;
#endif
  long long place = -1;
  for (long long i = 0; i < k; ++i) {
    place = next_of(row, seen, place);
#ifdef AK_MUTATION_NEXT_FOR_LAST
    if (i == k - 1 && k < n) place = next_of(row, seen, place);
#endif
    if (threadIdx.x != 0) continue;
#ifdef AK_MUTATION_ASCENDING
    const long long at = blockIdx.x * k + k - 1 - i;
#else
    const long long at = blockIdx.x * k + i;
#endif
    values[at] = static_cast<out_t_values>(static_cast<float>(row[place]));
    indices[at] = static_cast<out_t_indices>(place);
  }
}
