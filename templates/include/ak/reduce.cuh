// SPDX-License-Identifier: Apache-2.0
// Reductions over lanes, rows of threads and blocks, in an order that never changes.
//
// Over lanes: one shuffle and one operation a halving. Over warps: besides that, one barrier, and one word of shared
// memory a warp and row. Every USE has an array of its own, so that two reductions with different USE need no barrier
// between them; the same one used again does.
#pragma once

namespace ak {

/// Operations of reductions; an own one has operator()(a, b).
struct Sum {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Maximum {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Minimum {
  __device__ __forceinline__ float operator()(float a, float b) const { return fminf(a, b); }
};

/// The value of the lane whose number differs in the bits of `offset`. A type of several words has an overload beside it.
template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int offset) {
  return __shfl_xor_sync(0xffffffffu, value, offset);
}

/// The same value in each of LANES neighbouring lanes (a power of two): a butterfly, the farthest lanes first.
template <int LANES = 32, class T, class Operation>
__device__ __forceinline__ T reduce_lanes(T value, Operation operation) {
#pragma unroll
  for (int offset = LANES / 2; offset > 0; offset /= 2) value = operation(value, shuffle_xor(value, offset));
  return value;
}

/// The same over the four lanes that hold a row of an mma or wgmma result, the nearest lanes first.
template <class T, class Operation>
__device__ __forceinline__ T reduce_quad(T value, Operation operation) {
  value = operation(value, shuffle_xor(value, 1));
  return operation(value, shuffle_xor(value, 2));
}

/// The same value in every thread of a row. THREADS threads (blockDim.x, a power of two from 32 on) serve a row, ROWS
/// rows (blockDim.y) share the block; all threads take part.
template <int THREADS, int ROWS = 1, int USE = 0, class T, class Operation>
__device__ __forceinline__ T reduce_row(T value, Operation operation) {
  value = reduce_lanes(value, operation);
  constexpr int kWarps = THREADS / 32;
  if constexpr (kWarps > 1) {
    __shared__ T partial[ROWS][kWarps];
    if (threadIdx.x % 32 == 0) partial[threadIdx.y][threadIdx.x / 32] = value;
    __syncthreads();
    value = reduce_lanes<kWarps>(partial[threadIdx.y][threadIdx.x % kWarps], operation);
  }
  return value;
}

/// The sum over a block of THREADS threads, valid in thread 0; the other warps are free after one barrier.
template <int THREADS, int USE = 0>
__device__ __forceinline__ float block_sum(float value) {
  __shared__ float warp_sums[THREADS / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return 0.0f;
  value = threadIdx.x < THREADS / 32 ? warp_sums[threadIdx.x] : 0.0f;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

}  // namespace ak
