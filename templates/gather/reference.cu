/* alphakernel
{
  "launches": [
    {"kernel": "gather_reference<0>", "grid": ["ceil_div(M * K, 64)"], "block": [64], "when": "not long_index",
     "args": ["x", "index", "y", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]},
    {"kernel": "gather_reference<1>", "grid": ["ceil_div(M * K, 64)"], "block": [64], "when": "long_index",
     "args": ["x", "index", "y", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, k] = x[m, index[m, k]], 0 where there is no such element. One thread an index.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using out_t = double;
#endif

template <int LONG>
struct IndexOf {
  using type = int;
};
template <>
struct IndexOf<1> {
  using type = long long;
};

template <int LONG>
__global__ void gather_reference(const scalar_t* x, const typename IndexOf<LONG>::type* index, out_t* y, long long m,
                                 long long n, long long k) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i >= m * k) return;
  long long row = i / k;
#if defined(AK_MUTATION_FIRST_INDICES)
  long long from = index[i % k];
#else
  long long from = index[i];
#endif
#if defined(AK_MUTATION_SHORT_INDEX)
  from &= 65535;
#elif defined(AK_MUTATION_HALF_INDEX)
  from = static_cast<int>(from);
#elif defined(AK_MUTATION_CLAMPED)
  from = min(max(from, 0ll), n - 1);
#elif defined(AK_MUTATION_FROM_THE_END)
  if (from < 0) from += n;
#endif
  bool exists = from >= 0 && from < n;
#if defined(AK_MUTATION_IN_ORDER)
  if (exists) from = i % k % n;
#elif defined(AK_MUTATION_NEXT_ELEMENT)
  if (exists) from = (from + 1) % n;
#elif defined(AK_MUTATION_FIRST_ROW)
  row = 0;
#elif defined(AK_MUTATION_NO_TAIL)
  exists = exists && i % k < k / 4 * 4;
#endif
#ifdef AK_MUTATION_TIMES_ZERO
  if (!exists) {
    y[i] = static_cast<out_t>(0.0f * static_cast<float>(x[row * n]));
    return;
  }
#endif
  y[i] = exists ? static_cast<out_t>(static_cast<float>(x[row * n + from])) : static_cast<out_t>(0.0f);
}
