// SPDX-License-Identifier: Apache-2.0
// Copies of matrices whose lines are then multiples of 16 bytes, for copies and loads that need that.
//
// Costs reading and writing the matrix once. It pays where each line is read several times afterwards.
#pragma once

#include <ak/vectors.cuh>

namespace ak {

// Copies `lines` lines of `width` elements to lines of `pitch` elements (a multiple of 16 bytes); what is behind the
// width becomes zeros. Any grid of one-dimensional blocks; neighbouring threads read neighbouring words' elements.
template <class T>
__device__ __forceinline__ void pad_lines(const T* from, T* to, long long lines, int width, int pitch) {
  constexpr int kElements = sizeof(T) < 4 ? 4 / sizeof(T) : 1;  // of a word
  const int words = pitch / kElements;
  const long long all = lines * words, step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += step) {
    const long long line = i / words;
    const int x = static_cast<int>(i - line * words) * kElements;
    const T* source = from + line * width + x;
    Pack<T, kElements> pack;
#pragma unroll
    for (int e = 0; e < kElements; ++e) pack.value[e] = x + e < width ? source[e] : static_cast<T>(0.0f);
    store(to + i * kElements, pack);
  }
}

}  // namespace ak
