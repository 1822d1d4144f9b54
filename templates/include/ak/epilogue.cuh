// SPDX-License-Identifier: Apache-2.0
// What happens to sums before they are stored: a chain of bias, scales, residual and activation as one type.
//
// A step is a struct with float operator()(float sum, int row, int column). chain(first, second, ...) applies steps in
// order, without cost beyond theirs. Rows and columns are those of the whole result; a step that loads must only be
// asked for places inside.
#pragma once

#include <ak/functions.cuh>

namespace ak {

/// Adds bias[column].
template <class T>
struct AddBias {
  const T* bias;
  __device__ __forceinline__ float operator()(float sum, int, int column) const {
    return sum + static_cast<float>(bias[column]);
  }
};
/// Adds scale * residual[row][column]; pitch in elements.
template <class T>
struct AddResidual {
  const T* residual;
  long long pitch;
  float scale = 1.0f;
  __device__ __forceinline__ float operator()(float sum, int row, int column) const {
    return sum + scale * static_cast<float>(residual[row * pitch + column]);
  }
};
/// Multiplies by one number, by rows[row], or by columns[column].
struct Scale {
  float factor;
  __device__ __forceinline__ float operator()(float sum, int, int) const { return sum * factor; }
};
struct ScaleRows {
  const float* rows;
  __device__ __forceinline__ float operator()(float sum, int row, int) const { return sum * rows[row]; }
};
struct ScaleColumns {
  const float* columns;
  __device__ __forceinline__ float operator()(float sum, int, int column) const { return sum * columns[column]; }
};
/// Applies a function of functions.cuh: Apply<relu>.
template <float (*FUNCTION)(float)>
struct Apply {
  __device__ __forceinline__ float operator()(float sum, int, int) const { return FUNCTION(sum); }
};

// Steps in order.
template <class First, class... Rest>
struct Chain {
  First first;
  Chain<Rest...> rest;
  __device__ __forceinline__ float operator()(float sum, int row, int column) const {
    return rest(first(sum, row, column), row, column);
  }
};
template <class Last>
struct Chain<Last> {
  Last last;
  __device__ __forceinline__ float operator()(float sum, int row, int column) const { return last(sum, row, column); }
};

/// The steps one after the other: chain(ScaleRows{s}, AddBias<__half>{b}, Apply<relu>{}).
template <class Last>
__device__ __forceinline__ Chain<Last> chain(Last last) {
  return {last};
}
template <class First, class Second, class... Rest>
__device__ __forceinline__ Chain<First, Second, Rest...> chain(First first, Second second, Rest... rest) {
  return {first, chain(second, rest...)};
}

}  // namespace ak
