// SPDX-License-Identifier: Apache-2.0
// Sums of products for references: simple, exact in any type, and no slower than reading memory in order allows.
//
// 16 x 16 threads make one result each. 16 elements of 16 lines of either operand lie in shared memory at a time, so
// that threads read along lines and every element once a block; results are summed in the order of k. Needs 544
// elements of shared memory. Five to ten times as fast as a thread that reads both of its lines by itself.
#pragma once

namespace ak {

/// Calls step(i, x, y) for i from 0 to k - 1, where x is element i of this thread's line of the left operand and y that
/// of the right one. left(i) has to be element i of line threadIdx.y of the block's left lines, right(i) of its right
/// ones, 0 beyond them. All 256 threads call it; those that do not `count` have no results.
template <class T, class Left, class Right, class Step>
__device__ __forceinline__ void plain_product(long long k, bool counts, Left left, Right right, Step step) {
  constexpr int kTile = 16;
  __shared__ T left_tile[kTile][kTile + 1], right_tile[kTile][kTile + 1];
  for (long long first = 0; first < k; first += kTile) {
    const long long mine = first + threadIdx.x;
    left_tile[threadIdx.y][threadIdx.x] = mine < k ? left(mine) : T(0);
    right_tile[threadIdx.y][threadIdx.x] = mine < k ? right(mine) : T(0);
    __syncthreads();
    const int end = !counts ? 0 : k - first < kTile ? static_cast<int>(k - first) : kTile;
    for (int i = 0; i < end; ++i) step(first + i, left_tile[threadIdx.y][i], right_tile[threadIdx.x][i]);
    __syncthreads();
  }
}

}  // namespace ak
