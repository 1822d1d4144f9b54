// SPDX-License-Identifier: Apache-2.0
// Rows that begin anywhere as aligned packs, and the maximum and sum of exponentials that a softmax over one needs.
//
// A row of a matrix whose width no pack divides is not aligned. Its packs begin at the first address that is; what is
// before them and behind them, fewer than 2 * COUNT elements, is taken one by one, so that such rows cost as much as others.
#pragma once

#include <ak/functions.cuh>
#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

namespace ak {

/// A row of n elements at `data`, aligned to an element: `packs` packs of COUNT, and `singles` single elements.
template <class T, int COUNT>
struct UnalignedRow {
  int lead;     // single elements in front of the packs
  int packs;
  int singles;  // in front and behind
  __device__ __forceinline__ UnalignedRow(const T* data, int n) {
    constexpr unsigned int kBytes = COUNT * static_cast<unsigned int>(sizeof(T));
    const unsigned int over = static_cast<unsigned int>(reinterpret_cast<unsigned long long>(data)) % kBytes;
    lead = min(n, static_cast<int>((kBytes - over) % kBytes / static_cast<unsigned int>(sizeof(T))));
    packs = (n - lead) / COUNT;
    singles = n - packs * COUNT;
  }
  /// Where in the row pack i begins, and where its i-th single element is.
  __device__ __forceinline__ int pack(int i) const { return lead + i * COUNT; }
  __device__ __forceinline__ int single(int i) const { return i < lead ? i : i + packs * COUNT; }
};

/// The largest of some numbers, and the sum of exponentials relative to it.
struct ExpSum {
  float maximum, sum;
  /// The same relative to a larger number.
  __device__ __forceinline__ ExpSum raised(float to) const { return {to, sum * fast_exp(maximum - to)}; }
  /// With one more number.
  __device__ __forceinline__ ExpSum with(float x) const {
    ExpSum all = raised(fmaxf(maximum, x));
    all.sum += fast_exp(x - all.maximum);
    return all;
  }
};
/// Of no numbers: the lowest finite maximum, as infinity less infinity is no number.
__device__ __forceinline__ ExpSum no_exponentials() { return {-3.402823466e38f, 0.0f}; }

/// Operation of reductions: of all numbers of both.
struct MergeExpSums {
  __device__ __forceinline__ ExpSum operator()(ExpSum a, ExpSum b) const {
    const float maximum = fmaxf(a.maximum, b.maximum);
    return {maximum, a.raised(maximum).sum + b.raised(maximum).sum};
  }
};
__device__ __forceinline__ ExpSum shuffle_xor(ExpSum value, int offset) {
  return {shuffle_xor(value.maximum, offset), shuffle_xor(value.sum, offset)};
}

}  // namespace ak
