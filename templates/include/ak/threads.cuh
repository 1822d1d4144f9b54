// SPDX-License-Identifier: Apache-2.0
// Places of threads in warps and warp groups, addresses in shared memory, hand-over of registers between groups.
//
// A warp group is 128 neighbouring threads of a one-dimensional block: what one wgmma takes.
#pragma once

namespace ak {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

/// Address of shared memory in 32 bits, as instructions on shared memory take it.
__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

/// Place of this thread in its warp, and of its warp in the block.
__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x % 32); }
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x / 32); }

/// `value` of lane 0 in all lanes of the warp. Tells the compiler that they take the same way; without, it takes wgmma
/// products one by one.
__device__ __forceinline__ int uniform(int value) { return __shfl_sync(0xffffffffu, value, 0); }

/// This thread's warp group, known to the compiler to be the same for the warp.
__device__ __forceinline__ int warp_group() { return uniform(static_cast<int>(threadIdx.x) / 128); }

/// Waits for THREADS threads at named barrier `id` (1 to 15; 0 is __syncthreads), whole warps only.
template <int THREADS>
__device__ __forceinline__ void named_barrier(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(THREADS) : "memory");
}
/// Counts this warp at a named barrier without waiting: others of the THREADS threads wait for it.
template <int THREADS>
__device__ __forceinline__ void named_barrier_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(THREADS) : "memory");
}

// Warp groups hand over the registers that their block was launched with, which are fewer than the 65,536 of an SM: each
// thread has the same multiple of 8. 384 threads have 168, so that three groups share 504 for a thread of each; who asks
// for more waits forever. Kernels say __launch_bounds__(threads, 1), so that a block is launched with as many as it can.

/// Gives registers of this warp group back, down to COUNT a thread (24 to 256, a multiple of 8).
template <int COUNT>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
/// Takes registers that other groups gave back, up to COUNT a thread; waits until they have. In the end GROUPS groups of
/// the block have so many, and one more has KEPT, if that is not 0.
template <int COUNT, int GROUPS, int KEPT = 0>
__device__ __forceinline__ void take_registers() {
  constexpr int kGroups = GROUPS + (KEPT > 0 ? 1 : 0), kAtLaunch = 65536 / (kGroups * 128) / 8 * 8;
  static_assert(GROUPS * COUNT + KEPT <= kGroups * kAtLaunch, "more than the block was launched with");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

}  // namespace ak
