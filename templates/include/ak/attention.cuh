// SPDX-License-Identifier: Apache-2.0
// Attention: which keys a query sees, what becomes of its scores before the softmax, values of fp8 along keys.
//
// The last query stands at the last key: query i of S has position i + T - S among T keys. What depends on params of
// the problem is known when compiled, and costs nothing where it is not wanted.
#pragma once

#include <ak/functions.cuh>

namespace ak {

[[maybe_unused]] constexpr float kLog2E = 1.4426950408889634f;
[[maybe_unused]] constexpr float kLn2 = 0.6931471805599453f;

/// Tiles [begin, end) of keys.
struct KeyTiles {
  int begin, end;
};

/// Keys that queries see. CAUSAL: none beyond their position; WINDOW > 0: those less than WINDOW positions away.
template <bool CAUSAL, int WINDOW>
struct SeenKeys {
  int queries, keys;
  __device__ __forceinline__ int position(int query) const { return query + keys - queries; }
  /// Query sees the keys from begin(query) on, before end(query), which may be below 0.
  __device__ __forceinline__ int begin(int query) const {
    return WINDOW > 0 ? max(position(query) - WINDOW + 1, 0) : 0;
  }
  __device__ __forceinline__ int end(int query) const {
    if constexpr (CAUSAL) return min(keys, position(query) + 1);
    return WINDOW > 0 ? min(keys, position(query) + WINDOW) : keys;
  }
  /// Whether some of the queries first to last does not see some of the keys from `key` on, before key + count.
  __device__ __forceinline__ bool masked(int first, int last, int key, int count) const {
    return key + count > end(first) || (WINDOW > 0 && key < begin(last));
  }
  /// The tiles of WIDTH keys that some of the queries first to last sees, as far as there are these; none is less than
  /// LEAST.
  template <int WIDTH, int LEAST = 0>
  __device__ __forceinline__ KeyTiles tiles(int first, int last) const {
    const int from = begin(min(first, queries - 1)) / WIDTH;
    return {from, max(from + LEAST, (end(min(last, queries - 1)) + WIDTH - 1) / WIDTH)};
  }
};

/// Exponents of two whose softmax is wanted, from products q k. CAP > 0: scores become CAP tanh(score / CAP). SLOPES:
/// the distance of query and key times a head's slope is taken off.
template <int D, int CAP, bool SLOPES>
struct ScoreExponents {
  /// Products times this are the exponents.
  static constexpr bool kScaled = CAP == 0 && !SLOPES;
  static __device__ __forceinline__ float scale() { return kLog2E * rsqrtf(static_cast<float>(D)); }

  float slope = 0.0f;  // in powers of two
  float factor;        // of products, where operands have scales

  __device__ __forceinline__ ScoreExponents(const float* slopes, int head, float product_factor = 1.0f)
      : factor(product_factor) {
    if constexpr (SLOPES) slope = slopes[head] * kLog2E;
  }
  /// distance: of the query's position from the key, either sign.
  __device__ __forceinline__ float operator()(float product, float distance) const {
    product *= factor;
    float exponent = product * scale();
    // Not the approximation of one instruction, whose error of 2^-11 would count CAP times.
    if constexpr (CAP > 0) exponent = CAP * kLog2E * tanhf(product * (rsqrtf(static_cast<float>(D)) / CAP));
    if constexpr (SLOPES) exponent -= slope * fabsf(distance);
    return exponent;
  }
};

/// Bytes of a line of values that transpose_values() leaves.
__device__ __forceinline__ int value_pitch(int keys) { return (keys + 127) / 128 * 128; }

/// Values of one byte, [heads][keys][D], as [heads][D][value_pitch(keys)], zeros behind the last key: the second
/// product's operand, along keys. Within 32 keys they are in the order in which a thread of a matrix unit has the weights
/// from the first product: slot 16 a + 4 t + 2 b + c is key 16 a + 8 b + 2 t + c. Grid: value_pitch / 128, D / 32, heads;
/// 256 threads.
template <class Byte>
__device__ __forceinline__ void transpose_values(const Byte* values, Byte* lines, int keys, int d) {
  constexpr int kPitch = 36;  // of a key in shared memory: 32 columns, and a word that moves it to other banks
  __shared__ __align__(4) unsigned char tile[128 * kPitch];
  const int first_key = blockIdx.x * 128, first_column = blockIdx.y * 32;
  const int line = threadIdx.x / 2, half = threadIdx.x % 2 * 16;
  uint4 chunk = make_uint4(0, 0, 0, 0);
  if (first_key + line < keys) {
    const long long at = (static_cast<long long>(blockIdx.z) * keys + first_key + line) * d + first_column + half;
    chunk = *reinterpret_cast<const uint4*>(values + at);
  }
  const unsigned int words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) *reinterpret_cast<unsigned int*>(tile + line * kPitch + half + i * 4) = words[i];
  __syncthreads();
  const int column = threadIdx.x % 32, first_slot = threadIdx.x / 32 * 16;
  unsigned int slots[4];
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const unsigned char* two = tile + (first_slot + 2 * t) * kPitch + column;
    slots[t] = two[0] | two[kPitch] << 8 | two[8 * kPitch] << 16 | static_cast<unsigned int>(two[9 * kPitch]) << 24;
  }
  const long long to = (static_cast<long long>(blockIdx.z) * d + first_column + column) * value_pitch(keys);
  *reinterpret_cast<uint4*>(lines + to + first_key + first_slot) = make_uint4(slots[0], slots[1], slots[2], slots[3]);
}

}  // namespace ak
