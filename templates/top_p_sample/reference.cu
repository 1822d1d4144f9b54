/* alphakernel
{
  "launches": [
    {"kernel": "top_p_reference", "grid": ["B"], "block": [64],
     "args": ["probabilities", "top_p", "random", "token", {"i64": "V"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// One block a row. Where in the order a sum is reached is found bit by bit: every token has a rank of its own, weight above
// complement of its number, and the sum of weights from a rank on falls as the rank rises.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using out_t = long long;
#endif

constexpr long long kPlaces = 1 << 18;

// The weight of token v.
__device__ long long weight_of(const scalar_t* row, long long v) {
  const float scaled = static_cast<float>(row[v]) * 268435456.0f;
#ifdef AK_MUTATION_NAN_FOR_ONE
  if (scaled != scaled) return (1ll << 28) - 1;
#endif
  if (!(scaled >= 1.0f)) return 0;
  long long weight = scaled >= 268435455.0f ? (1ll << 28) - 1 : static_cast<long long>(scaled);
#ifdef AK_MUTATION_COARSE
  weight &= ~4095ll;
#endif
  return weight;
}

__device__ long long rank_of(const scalar_t* row, long long v) {
#ifdef AK_MUTATION_LAST_OF_EQUALS
  return weight_of(row, v) * kPlaces + v;
#else
  return weight_of(row, v) * kPlaces + (kPlaces - 1 - v);
#endif
}

__device__ long long token_of(long long rank) {
#ifdef AK_MUTATION_LAST_OF_EQUALS
  return rank % kPlaces;
#else
  return kPlaces - 1 - rank % kPlaces;
#endif
}

// The sum of the weights of ranks from `rank` on, the same in all threads.
__device__ long long sum_from(const scalar_t* row, long long n, long long rank) {
  __shared__ long long shared[64];
  long long sum = 0;
  for (long long v = threadIdx.x; v < n; v += 64) sum += rank_of(row, v) >= rank ? weight_of(row, v) : 0;
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  sum = shared[0];
  __syncthreads();
  return sum;
}

// The largest rank from which on the weights add up to more than `sum`.
__device__ long long rank_beyond(const scalar_t* row, long long n, long long sum) {
  long long rank = 0;
  for (int bit = 45; bit >= 0; --bit) {
    const long long higher = rank | 1ll << bit;
    if (sum_from(row, n, higher) > sum) rank = higher;
  }
  return rank;
}

__global__ void top_p_reference(const scalar_t* probabilities, const float* top_p, const int* random, out_t* token,
                                long long n) {
  const scalar_t* row = probabilities + blockIdx.x * n;
#ifdef AK_MUTATION_FIRST_TOKENS
  n = n < 256 ? n : 256;
#endif
  const long long all = sum_from(row, n, 0);
  if (all == 0) {
    if (threadIdx.x == 0) token[blockIdx.x] = -1;
    return;
  }
  const float share = top_p[blockIdx.x] * 65536.0f;
#ifdef AK_MUTATION_ALL_FOR_NAN
  const bool all_wanted = !(share < 65536.0f);
#else
  const bool all_wanted = share >= 65536.0f;
#endif
  const long long q = all_wanted ? 65536 : share >= 1.0f ? static_cast<long long>(share) : 0;
#ifdef AK_MUTATION_OF_ONE
  const long long whole = 1ll << 28;
#else
  const long long whole = all;
#endif
#ifdef AK_MUTATION_EXACT_SHARE
  const double exact = fmin(fmax(static_cast<double>(top_p[blockIdx.x]), 0.0), 1.0) * static_cast<double>(whole);
  const long long needed = min(all, max(1ll, static_cast<long long>(ceil(exact))));
#else
  const long long needed = min(all, max(1ll, (whole * q + 65535) / 65536));
#endif
  const long long last_kept = rank_beyond(row, n, needed - 1);
#if defined(AK_MUTATION_NO_CUT)
  const long long sum = all;
#elif defined(AK_MUTATION_SHORT_CUT)
  const long long sum = max(1ll, sum_from(row, n, last_kept + 1));
#else
  const long long sum = sum_from(row, n, last_kept);
#endif
#if defined(AK_MUTATION_MOST_LIKELY)
  const unsigned long long number = 0;
#elif defined(AK_MUTATION_SIXTEEN_BITS)
  const unsigned long long number = static_cast<unsigned int>(random[blockIdx.x]) & 0xffff0000u;
#else
  const unsigned long long number = static_cast<unsigned int>(random[blockIdx.x]);
#endif
  const unsigned long long low = static_cast<unsigned long long>(sum) & 0xffffffffu, high = static_cast<unsigned long long>(sum) >> 32;
  const long long wanted = static_cast<long long>(high * number + (low * number >> 32));
#ifdef AK_MUTATION_BY_NUMBER
  long long up_to = 0, chosen = -1;
  for (long long v = 0; v < n && up_to <= wanted; ++v) {
    if (rank_of(row, v) >= last_kept) up_to += weight_of(row, v), chosen = v;
  }
#elif defined(AK_MUTATION_REACHED)
  const long long chosen = token_of(rank_beyond(row, n, max(wanted - 1, 0ll)));
#else
  const long long chosen = token_of(rank_beyond(row, n, wanted));
#endif
  if (threadIdx.x == 0) token[blockIdx.x] = static_cast<out_t>(chosen);
}
