// SPDX-License-Identifier: Apache-2.0
// Random numbers from counters (Philox4x32-10), and dropout: the one layout of this project.
//
// Word i % 4 of philox(key, i / 4, stream) belongs to element i, counted row by row over the whole tensor, so that it
// depends neither on tiles nor on threads. Key: the seed's low and high half. Counter: {index low, index high, stream,
// 0}. Streams tell apart what one seed is used for: 0 is dropout. Four words take about 40 integer instructions.
// Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11.
#pragma once

namespace ak {

/// The four words of a counter.
__device__ __forceinline__ uint4 philox(unsigned long long seed, unsigned long long index, unsigned int stream = 0) {
  unsigned int c0 = static_cast<unsigned int>(index), c1 = static_cast<unsigned int>(index >> 32), c2 = stream, c3 = 0;
  unsigned int k0 = static_cast<unsigned int>(seed), k1 = static_cast<unsigned int>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned int high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    const unsigned int high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return make_uint4(c0, c1, c2, c3);
}

/// A word as a number in [0, 1), a multiple of 2^-24.
__device__ __forceinline__ float uniform_number(unsigned int word) {
  return static_cast<float>(word >> 8) * 5.9604644775390625e-8f;
}

/// Dropout with probability p (0 <= p < 1): an element stays where its number is p or more, and is divided by 1 - p.
/// Numbers are the upper 24 bits of a word, times 2^-24: words themselves are compared, with the first that stays.
struct Dropout {
  unsigned long long seed;
  unsigned int first_kept;
  float scale;
  /// With this seed and probability.
  __device__ Dropout(unsigned long long with_seed, float probability)
      : seed(with_seed),
        first_kept(static_cast<unsigned int>(ceilf(probability * 16777216.0f)) << 8),
        scale(1.0f / (1.0f - probability)) {}
  /// The element with this index, given the word that belongs to it.
  __device__ __forceinline__ float apply(float x, unsigned int word) const {
    return word < first_kept ? 0.0f : x * scale;
  }
  /// Four neighbouring elements; `index` of the first is a multiple of 4.
  __device__ __forceinline__ void apply(float (&x)[4], unsigned long long index) const {
    const uint4 words = philox(seed, index / 4);
    x[0] = apply(x[0], words.x);
    x[1] = apply(x[1], words.y);
    x[2] = apply(x[2], words.z);
    x[3] = apply(x[3], words.w);
  }
  /// One element alone, at the cost of four.
  __device__ __forceinline__ float at(float x, unsigned long long index) const { return apply(x, word_of(index)); }

  /// Which of COUNT neighbouring elements stay; of 4 and more `index` is a multiple of 4.
  template <int COUNT>
  __device__ __forceinline__ void choose(bool (&stay)[COUNT], unsigned long long index) const {
    if constexpr (COUNT % 4 == 0) {
#pragma unroll
      for (int i = 0; i < COUNT; i += 4) {
        const uint4 words = philox(seed, (index + i) / 4);
        stay[i] = words.x >= first_kept;
        stay[i + 1] = words.y >= first_kept;
        stay[i + 2] = words.z >= first_kept;
        stay[i + 3] = words.w >= first_kept;
      }
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) stay[i] = word_of(index + i) >= first_kept;
    }
  }

 private:
  __device__ __forceinline__ unsigned int word_of(unsigned long long index) const {
    const uint4 words = philox(seed, index / 4);
    const unsigned int odd = index % 2, high = index / 2 % 2;
    return high ? (odd ? words.w : words.z) : (odd ? words.y : words.x);
  }
};

}  // namespace ak
