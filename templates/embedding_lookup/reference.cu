/* alphakernel
{
  "launches": [
    {"kernel": "lookup_reference<0>", "grid": ["N"], "block": [64], "when": "not long_index",
     "args": ["table", "index", "padding", "out", {"i64": "V"}, {"i64": "H"}]},
    {"kernel": "lookup_reference<1>", "grid": ["N"], "block": [64], "when": "long_index",
     "args": ["table", "index", "padding", "out", {"i64": "V"}, {"i64": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// out[n] = table[index[n]], zeros where there is no such row or it is the padding. One block an index.
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
__global__ void lookup_reference(const scalar_t* table, const typename IndexOf<LONG>::type* index, int padding, out_t* out,
                                 long long v, long long h) {
  long long row = index[blockIdx.x];
  bool exists = row != padding && row >= 0 && row < v;
#if defined(AK_MUTATION_IN_ORDER)
  if (exists) row = blockIdx.x % v;
#elif defined(AK_MUTATION_NEXT_ROW)
  if (exists) row = (row + 1) % v;
#elif defined(AK_MUTATION_CLAMPED)
  exists = row != padding;
  row = min(max(row, 0ll), v - 1);
#elif defined(AK_MUTATION_PADDING_READ)
  exists = row >= 0 && row < v;
#elif defined(AK_MUTATION_NO_PADDING_OF_0)
  exists = (padding <= 0 || row != padding) && row >= 0 && row < v;
#elif defined(AK_MUTATION_SHORT_INDEX)
  row &= 65535;
#elif defined(AK_MUTATION_HALF_INDEX)
  row = static_cast<int>(row);
  exists = row != padding && row >= 0 && row < v;
#endif
  for (long long i = threadIdx.x; i < h; i += 64) {
    bool copied = exists;
#if defined(AK_MUTATION_ONE_WARP)
    copied = exists && i < 32;
#elif defined(AK_MUTATION_NO_TAIL)
    copied = exists && i < h / 8 * 8;
#endif
    out[blockIdx.x * h + i] = copied ? static_cast<out_t>(static_cast<float>(table[row * h + i])) : static_cast<out_t>(0.0f);
  }
}
