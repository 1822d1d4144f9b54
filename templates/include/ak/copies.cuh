// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies by threads (cp.async): 4, 8 or 16 bytes each to shared memory, in groups.
//
// From sm_80 on; before, the same calls copy at once, through registers. A thread starts copies, closes a
// group and later waits for groups, oldest first; a barrier of the block then shows them to the others. A pipeline of
// STAGES buffers keeps STAGES - 1 groups under way:
//
//   STAGES - 1 times: start, commit_copies()
//   each step:        wait_copies<STAGES - 2>()  __syncthreads()  start the copies of step + STAGES - 1
//                     commit_copies()  use the buffer of this step
#pragma once

#include <ak/threads.cuh>

namespace ak {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
[[maybe_unused]] constexpr bool kAsynchronousCopies = false;
#else
[[maybe_unused]] constexpr bool kAsynchronousCopies = true;
#endif

// The first `count` of BYTES bytes, a word at a time; zeros for the others.
template <int BYTES>
__device__ __forceinline__ void copy_at_once(u32 to, const void* from, int count) {
#pragma unroll
  for (int at = 0; at < BYTES; at += 4) {
    u32 word = 0;
    if (count - at >= 4) {
      word = static_cast<const u32*>(from)[at / 4];
    } else {
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        if (at + i < count) word |= static_cast<u32>(static_cast<const unsigned char*>(from)[at + i]) << i * 8;
      }
    }
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + at), "r"(word) : "memory");
  }
}

/// Copies BYTES, or zeros where `inside` does not hold; `from` must be valid all the same. Both are aligned to BYTES.
/// 16 bytes go past L1. AHEAD: bytes that L2 fetches with them (0, 64, 128, 256).
template <int BYTES = 16, int AHEAD = 0>
__device__ __forceinline__ void copy_async(u32 to, const void* from, bool inside = true) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  static_assert(AHEAD == 0 || AHEAD == 64 || AHEAD == 128 || AHEAD == 256);
  const int bytes = inside ? BYTES : 0;
  if constexpr (!kAsynchronousCopies) {
    copy_at_once<BYTES>(to, from, bytes);
  } else if constexpr (BYTES < 16) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(bytes), "n"(BYTES)
                 : "memory");
  } else if constexpr (AHEAD == 0) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.cg.shared.global.L2::%3B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes), "n"(AHEAD)
                 : "memory");
  }
}

/// Copies the first `count` (0 to BYTES) of BYTES bytes, 4 or 8, and zeros for the others, which are not read.
template <int BYTES = 4>
__device__ __forceinline__ void copy_async_head(u32 to, const void* from, int count) {
  static_assert(BYTES == 4 || BYTES == 8);
  if constexpr (kAsynchronousCopies) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(count), "n"(BYTES)
                 : "memory");
  } else {
    copy_at_once<BYTES>(to, from, count);
  }
}

/// A policy for L2, as copies take it: lines that are read `once` are the first to be driven out, others as usual.
__device__ __forceinline__ u64 cache_policy(bool once) {
  u64 first, usual;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(usual));
  return once ? first : usual;
}
/// Copies 16 bytes under an L2 policy, or zeros.
__device__ __forceinline__ void copy_async(u32 to, const void* from, bool inside, u64 policy) {
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(bytes),
               "l"(policy) : "memory");
}

// Asks L2 for the first of `count` elements that all blocks of the launch will read, so that none waits for memory:
// every block for other lines of 128 bytes, one for each of its first THREADS threads.
template <int THREADS, class T>
__device__ __forceinline__ void prefetch_together(const T* from, long long count) {
  if (threadIdx.x >= THREADS) return;
  const long long line = static_cast<long long>(threadIdx.x) * gridDim.x + blockIdx.x;
  if (line * 128 < count * static_cast<int>(sizeof(T))) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(bytes + line * 128) : "memory");
  }
}

/// Closes a group of this thread's copies; an empty one counts too.
__device__ __forceinline__ void commit_copies() {
  if constexpr (kAsynchronousCopies) asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most LEFT of this thread's groups are under way.
template <int LEFT>
__device__ __forceinline__ void wait_copies() {
  if constexpr (kAsynchronousCopies) asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

}  // namespace ak
