// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory (mbarrier) and rings of stages that they run.
//
// A barrier is 8 bytes, aligned to 8. It completes a phase when all its arrivals came and all bytes that were announced
// were copied. Waiting names the phase by its parity, 0 first. A ring has two barriers a stage: `full` says that a stage
// was filled, `empty` that it may be filled again:
//
//   filling:  wait(empty, parity ^ 1)  expect(full, bytes)  tma_load(..., full)  ring.advance()
//   using:    wait(full, parity)       ... read ...         arrive(empty)        ring.advance()
#pragma once

#include <ak/threads.cuh>

namespace ak {

/// Sets a barrier up for `arrivals` a phase. One thread does so; then publish_barriers() and a barrier of the block.
__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Shows barriers that this thread set up to asynchronous copies and to the cluster.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Arrives, and announces `bytes` that asynchronous copies will bring.
__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Arrives at a barrier of this block.
__device__ __forceinline__ void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives at the barrier at the same address in block `rank` of the cluster.
__device__ __forceinline__ void barrier_arrive_at(u32 barrier, u32 rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(barrier), "r"(rank) : "memory");
}
/// Arrives when this thread's cp.async copies so far have ended, without waiting for them.
__device__ __forceinline__ void barrier_arrive_after_copies(u32 barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
/// Waits for the end of the phase with this parity.
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again_%=;\n"
      "}\n" ::"r"(barrier), "r"(parity) : "memory");
}

/// Shows what this thread wrote to shared memory to asynchronous units: wgmma, and copies that read it.
__device__ __forceinline__ void fence_shared_writes() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Place in a ring of LENGTH stages: which one is next, and the parity of its phase.
template <int LENGTH>
struct Ring {
  int stage = 0;
  u32 parity = 0;
  /// Goes on to the next stage; after the last to the first, in the next phase.
  __device__ __forceinline__ void advance() {
    if (++stage == LENGTH) {
      stage = 0;
      parity ^= 1;
    }
  }
  /// Goes on by `count` stages, which another group takes.
  __device__ __forceinline__ void skip(int count) {
    const int next = stage + count;
    stage = next % LENGTH;
    parity ^= next / LENGTH % 2;
  }
  /// Barrier of this stage in an array of them.
  __device__ __forceinline__ u32 of(u32 barriers) const { return barriers + stage * 8; }
};

}  // namespace ak
