/* alphakernel
{
  "launches": [
    {"kernel": "choose_reference", "grid": ["ceil_div(T, 64)"], "block": [64],
     "args": ["logits", "weights", "ids", {"i64": "T"}, {"i64": "E"}, {"i64": "K"}, {"i32": "renormalize"}]},
    {"kernel": "sort_reference", "grid": [1], "block": [1024],
     "args": ["ids", "offsets", "order", "places", {"i64": "T * K"}, {"i64": "E"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A thread chooses a token's experts, one after the other; then a thread for each expert finds its pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t_weights = double;
using out_t_ids = long long;
using out_t_offsets = long long;
using out_t_order = long long;
using out_t_places = long long;
#endif

#ifdef AK_EXACT
using wide_t = double;
#else
using wide_t = float;
#endif

// What a running sum is kept as.
__device__ wide_t keep(wide_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<wide_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

// Whether expert i with logit x comes before expert j with logit y.
__device__ bool comes_before(float x, long long i, float y, long long j) {
#ifdef AK_MUTATION_BY_PROBABILITY
  x = expf(x);
  y = expf(y);
#endif
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
#ifdef AK_MUTATION_LAST_OF_EQUALS
  return i > j;
#else
  return i < j;
#endif
}

__global__ void choose_reference(const scalar_t* logits, out_t_weights* weights, out_t_ids* ids, long long tokens,
                                 long long experts, long long k, int renormalize) {
  const long long t = blockIdx.x * 64ll + threadIdx.x;
  if (t >= tokens) return;
  const scalar_t* row = logits + t * experts;
  const auto read = [&](long long e) { return static_cast<float>(row[e]); };
#ifdef AK_MUTATION_LAST_EXPERT
  const long long seen = max(k, experts - 1);
#elif defined(AK_MUTATION_FEW_EXPERTS)
  const long long seen = min(experts, 512ll);
#else
  const long long seen = experts;
#endif
#ifdef AK_MUTATION_OTHER_SUM
  renormalize = 1 - renormalize;
#endif
  long long last = -1;
  wide_t maximum = 0, of_chosen = 0, of_all = 0;
  for (long long j = 0; j < k; ++j) {
    long long best = -1;
    for (long long e = 0; e < seen; ++e) {
      if (last >= 0 && !comes_before(read(last), last, read(e), e)) continue;
      if (best < 0 || comes_before(read(e), e, read(best), best)) best = e;
    }
#ifdef AK_MUTATION_MINUS_INFINITY_LAST
    if (read(best) < -3.4e38f) best = 0;
#endif
#ifndef AK_MUTATION_NO_MAX
    if (j == 0) maximum = read(best);
#endif
    last = best;
    ids[t * k + j] = static_cast<out_t_ids>(best);
    of_chosen = keep(of_chosen + exp(static_cast<wide_t>(read(best)) - maximum));
  }
#ifdef AK_MUTATION_UNSORTED
  for (long long j = 1; j < k; ++j) {
    for (long long i = j; i > 0 && ids[t * k + i - 1] > ids[t * k + i]; --i) {
      const out_t_ids other = ids[t * k + i];
      ids[t * k + i] = ids[t * k + i - 1];
      ids[t * k + i - 1] = other;
    }
  }
#endif
  for (long long e = 0; e < experts; ++e) of_all = keep(of_all + exp(static_cast<wide_t>(read(e)) - maximum));
  const wide_t sum = renormalize != 0 ? of_chosen : of_all;
  for (long long j = 0; j < k; ++j) {
    const wide_t logit = static_cast<wide_t>(read(static_cast<long long>(ids[t * k + j])));
    weights[t * k + j] = static_cast<out_t_weights>(exp(logit - maximum) / sum);
  }
}

// The pair that is looked at in the i-th place.
__device__ long long pair_at(long long i, long long pairs, long long k) {
#if defined(AK_MUTATION_NOT_STABLE)
  return pairs - 1 - i;
#elif defined(AK_MUTATION_BY_CHOICE)
  return i % (pairs / k) * k + i / (pairs / k);
#else
  return i;
#endif
}

__global__ void sort_reference(const out_t_ids* ids, out_t_offsets* offsets, out_t_order* order, out_t_places* places,
                               long long pairs, long long experts, long long k) {
  __shared__ long long counts[1024], first[1025];
  const long long e = threadIdx.x;
#ifdef AK_MUTATION_FEW_PAIRS
  for (long long p = 1024 + e; p < pairs; p += 1024) {
    order[p] = static_cast<out_t_order>(p);
    places[p] = static_cast<out_t_places>(p);
  }
  pairs = min(pairs, 1024ll);
#endif
  counts[e] = 0;
  for (long long p = 0; p < pairs && e < experts; ++p) counts[e] += ids[p] == e;
  __syncthreads();
  if (e == 0) {
    first[0] = 0;
    for (long long i = 0; i < experts; ++i) first[i + 1] = first[i] + counts[i];
  }
  __syncthreads();
#ifdef AK_MUTATION_ENDS
  if (e < experts) offsets[e] = static_cast<out_t_offsets>(first[e + 1]);
#else
  if (e < experts) offsets[e] = static_cast<out_t_offsets>(first[e]);
#endif
  if (e == 0) offsets[experts] = static_cast<out_t_offsets>(pairs);
  long long place = e < experts ? first[e] : 0;
  for (long long i = 0; i < pairs && e < experts; ++i) {
    const long long p = pair_at(i, pairs, k);
    if (ids[p] != e) continue;
    order[place] = static_cast<out_t_order>(p);
    places[p] = static_cast<out_t_places>(place++);
  }
}
