// SPDX-License-Identifier: Apache-2.0
// A ring of slices of both operands in shared memory, and the warp groups that multiply them (wgmma, sm_90a).
//
// A stage has BM lines of A and BN lines of B, 128 bytes of k each, in the 128-byte swizzle. CONSUMERS warp groups each
// multiply BM / CONSUMERS lines of A with all of B and keep sums in registers, as wgmma.cuh lays them out, 64 rows a
// block. Whoever fills takes a stage by claim() and starts copies that complete on its barrier. The CLUSTER blocks of a
// cluster fill each other's stages, so that all of them have to release one.
//
//   memory, aligned to 1024:  [A | B] x STAGES   full barriers x STAGES   empty barriers x STAGES
#pragma once

#include <ak/barriers.cuh>
#include <ak/wgmma.cuh>

namespace ak {

template <class In, int BM, int BN, int CONSUMERS, int STAGES, int CLUSTER = 1>
struct SliceRing {
  static constexpr int kDepth = 128 / In::kBytes;      // elements of k in a slice
  static constexpr int kBlocks = BM / CONSUMERS / 64;  // of 64 rows, for each consumer
  static constexpr int kBytesA = BM * 128, kStageBytes = (BM + BN) * 128, kBytes = STAGES * (kStageBytes + 16);
  static_assert(kBlocks * CONSUMERS * 64 == BM);
  using Sums = float[kBlocks][BN / 2];
  using Place = Ring<STAGES>;  // of one who fills or uses, who begins with a fresh one
  u32 memory;

  __device__ __forceinline__ u32 a(int stage) const { return memory + stage * kStageBytes; }
  __device__ __forceinline__ u32 b(int stage) const { return a(stage) + kBytesA; }
  __device__ __forceinline__ u32 full(int stage) const { return memory + STAGES * kStageBytes + stage * 8; }
  __device__ __forceinline__ u32 empty(int stage) const { return full(STAGES + stage); }

  // Sets the barriers up, in one thread; a barrier of the block follows, and one of the cluster. `fillers`: threads that
  // arrive at a full barrier besides the one that claims.
  __device__ __forceinline__ void init(int fillers = 0) const {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(full(stage), 1 + fillers);
      barrier_init(empty(stage), CONSUMERS * 4 * CLUSTER);  // 4 warps a group
    }
    publish_barriers();
  }
  // Waits until the stage may be filled; its barrier then waits for `bytes`. One thread.
  __device__ __forceinline__ u32 claim(const Place& at, u32 bytes = kStageBytes) const {
    barrier_wait(empty(at.stage), at.parity ^ 1);
    barrier_expect(full(at.stage), bytes);
    return full(at.stage);
  }
  // Tells every block of the cluster that this warp has read a stage. Each warp speaks for itself: another of its group
  // may still be about to read.
  __device__ __forceinline__ void release(int stage) const {
    const int lane = lane_index();
    if (lane < CLUSTER) barrier_arrive_at(empty(stage), lane);
  }
  // Lets `slices` slices go by.
  __device__ __forceinline__ void skip(Place& at, int slices) const {
    for (int slice = 0; slice < slices; ++slice) {
      barrier_wait(full(at.stage), at.parity);
      release(at.stage);
      at.advance();
    }
  }
  // Issues the products of a stage that has arrived, as one group; the sums begin anew where `anew` holds.
  __device__ __forceinline__ void multiply(int stage, int consumer, Sums& sums, bool anew) const {
    const u32 from = a(stage) + consumer * kBlocks * 64 * 128;
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        Wgmma<In, BN>::multiply(sums[block], wgmma_operand(from + block * 64 * 128 + step * 32),
                                wgmma_operand(b(stage) + step * 32), anew && step == 0 ? 0 : 1);
      }
    }
    wgmma_commit();
  }
  // The sums of the products of `slices` slices, at least one. A stage is released when the next one's products run.
  // COPIED: threads filled the stages by copies of their own (cp.async), which wgmma sees behind a fence.
  template <bool COPIED = false>
  __device__ __forceinline__ void sum(Place& at, int slices, int consumer, Sums& sums) const {
    int last = 0;
    for (int slice = 0; slice < slices; ++slice) {
      barrier_wait(full(at.stage), at.parity);
      if constexpr (COPIED) fence_shared_writes();
      multiply(at.stage, consumer, sums, slice == 0);
      if (slice > 0) {
        wgmma_wait<1>();
        release(last);
      }
      last = at.stage;
      at.advance();
    }
    wgmma_wait<0>();
    release(last);
  }
};

// Sets all sums of a thread to 0.
template <int BLOCKS, int COUNT>
__device__ __forceinline__ void clear(float (&sums)[BLOCKS][COUNT]) {
#pragma unroll
  for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) sums[block][i] = 0.0f;
  }
}

}  // namespace ak
