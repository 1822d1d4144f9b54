// SPDX-License-Identifier: Apache-2.0
// A tile of a product of 16-bit matrices whose lines begin anywhere (mma.sync).
//
// For the shapes that no asynchronous copy of 16 bytes can read: any K, N and M, either layout of either operand. 128
// threads make 64 x 64 results, four warps 32 x 32 each. A slice of 32 in k goes from global memory through registers,
// in pairs of elements, to one of two buffers in shared memory; the next one is on its way while this one is multiplied.
// A pair is one load where its line begins at an even element, else two. Needs 10 to 20 KiB of shared memory.
#pragma once

#include <ak/fragments.cuh>
#include <ak/mma.cuh>
#include <ak/threads.cuh>

namespace ak {

// The pair of elements at `offset`, zeros for those that are not `inside` (0, 1 or 2 of them).
template <class T>
__device__ __forceinline__ u32 load_pair(const T* matrix, long long offset, int inside) {
  const auto* halves = reinterpret_cast<const u16*>(matrix) + offset;
  if (inside >= 2 && offset % 2 == 0) return __ldg(reinterpret_cast<const u32*>(halves));
  const u32 low = inside >= 1 ? __ldg(halves) : 0, high = inside >= 2 ? __ldg(halves + 1) : 0;
  return low | high << 16;
}

// LINES rows of a or columns of b, 32 deep in k. Lines in shared memory are those of global memory, 16 bytes longer, so
// that the 8 lines of one matrix load meet different banks.
template <class T, int LINES, bool ACROSS>
struct RaggedSlice {
  static constexpr int kDepth = 32, kThreads = 128;
  static constexpr int kWidth = ACROSS ? LINES : kDepth, kHeight = ACROSS ? kDepth : LINES;
  static constexpr int kPitch = kWidth * 2 + 16;  // bytes
  static constexpr int kBytes = kHeight * kPitch;
  static constexpr int kPairs = kWidth / 2, kCount = kHeight * kPairs / kThreads;
  u32 pairs[kCount];

  __device__ __forceinline__ void fetch(const T* matrix, int pitch, int first, int lines, int k, int end) {
    const int left = ACROSS ? first : k, top = ACROSS ? k : first;
    const int width = ACROSS ? lines : end, height = ACROSS ? end : lines;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int index = i * kThreads + static_cast<int>(threadIdx.x);
      const int x = left + index % kPairs * 2, y = top + index / kPairs;
      pairs[i] = load_pair(matrix, static_cast<long long>(y) * pitch + x, y < height ? width - x : 0);
    }
  }
  __device__ __forceinline__ void store(u32 slice) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int index = i * kThreads + static_cast<int>(threadIdx.x);
      const u32 to = slice + index / kPairs * kPitch + index % kPairs * 4;
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(pairs[i]) : "memory");
    }
  }
  // The 16 lines from `line` on, 16 elements of k from 16 * step on, as mma.cuh has the operand A.
  static __device__ __forceinline__ void load(u32 (&fragment)[4], u32 slice, int line, int step) {
    const int lane = lane_index();
    if constexpr (ACROSS) {
      const int at = step * 16 + lane / 16 * 8 + lane % 8;
      load_matrices_transposed(fragment, slice + at * kPitch + line * 2 + lane / 8 % 2 * 16);
    } else {
      load_matrices(fragment, slice + (line + lane % 16) * kPitch + step * 32 + lane / 16 * 16);
    }
  }
};

// Makes the tile of 64 x 64 results of a (m x k) times b (k x n) at blockIdx (x along n, y along m) and hands each
// result that is inside to put(sum, row, column). ACROSS: the operand's lines run across k (a by columns, b by rows).
// Blocks of 128 threads. Sums are in fp32, in the order of k.
template <class T, bool A_ACROSS, bool B_ACROSS, class Put>
__device__ __forceinline__ void ragged_product(const T* a, const T* b, int m, int n, int k, Put put) {
  static_assert(sizeof(T) == 2, "pairs of 16-bit elements");
  using A = RaggedSlice<T, 64, A_ACROSS>;
  using B = RaggedSlice<T, 64, B_ACROSS>;
  __shared__ __align__(16) unsigned char buffers[2][A::kBytes + B::kBytes];
  const int row = blockIdx.y * 64, column = blockIdx.x * 64;
  const int lane = lane_index(), warp_row = warp_index() / 2 * 32, warp_column = warp_index() % 2 * 32;
  A next_a;
  B next_b;
  const auto fetch = [&](int at) {
    next_a.fetch(a, A_ACROSS ? m : k, row, m, at, k);
    next_b.fetch(b, B_ACROSS ? n : k, column, n, at, k);
  };
  float sums[2][4][4] = {};
  fetch(0);
  int turn = 0;
  for (int at = 0; at < k; at += A::kDepth, turn ^= 1) {
    const u32 slice_a = shared_address(buffers[turn]), slice_b = slice_a + A::kBytes;
    next_a.store(slice_a);
    next_b.store(slice_b);
    __syncthreads();
    fetch(at + A::kDepth);
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      u32 x[2][4], y[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        A::load(x[i], slice_a, warp_row + i * 16, step);
        B::load(y[i], slice_b, warp_column + i * 16, step);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) mma<Element<T>>(sums[i][j], x[i], y[j / 2][j % 2], y[j / 2][2 + j % 2]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int y = row + warp_row + i * 16 + lane / 4 + e / 2 * 8;
        const int x = column + warp_column + j * 8 + lane % 4 * 2 + e % 2;
        if (y < m && x < n) put(sums[i][j][e], y, x);
      }
    }
  }
}

}  // namespace ak
