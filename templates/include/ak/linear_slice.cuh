// SPDX-License-Identifier: Apache-2.0
// Products of a slice of a linear layer on Hopper while the next weights are unpacked.
//
//   batch b:      ld.shared, unpack ─► registers ┐
//   batch b - 1:  wgmma 64 x BM, A from registers, B from shared memory, under way
//
// ptxas sees that products may be under way only if nothing but straight code lies between them, over slices too: else it
// takes them one by one, and says so in its report (C7513, C7514).
#pragma once

#include <ak/linear_ring.cuh>
#include <ak/packed_weights.cuh>
#include <ak/wgmma.cuh>

namespace ak {

// W: format of the weights. RING: where slices are. SUMS: of a warp group, for 64 * BLOCKS lines by BM rows. BATCHES:
// products of 64 bytes of k under way at once, where a unit of weights is 32 bytes.
template <class W, class RING, class SUMS, int BLOCKS, int BM, int BK, bool BATCHES>
struct LinearSlice {
  using X = typename W::X;
  using Ring = RING;
  using Sums = SUMS;
  using Product = Wgmma<X, BM>;
  // Units whose products are begun together.
  static constexpr int kBatch = BATCHES && W::kUnitDepth * X::kBytes == 32 ? 2 : 1;
  static constexpr int kUnits = BK / W::kUnitDepth, kBatches = kUnits / kBatch;
  // Weights that have to be unpacked are loaded a batch ahead, during the wait for products.
  static constexpr bool kAhead = W::kSteps > 1;
  static_assert(kUnits % (2 * kBatch) == 0);

  // One lane says it for all of its warp, each of which has read weights.
  // stage: -1 for none; a branch would lie between products.
  static __device__ __forceinline__ void give_back(const Ring& ring, int stage) {
    __syncwarp();
    ring.release(stage);
  }

  // What a lane loads of a unit, for each 64 lines: words to unpack, and what it needs of its two lines.
  struct Load {
    uint4 words[kBatch][BLOCKS];
    typename W::Lines lines[BLOCKS];
  };
  // Loads a batch. weights: of this group in its slice; before: the batch before, of the same lines but for a new block.
  static __device__ __forceinline__ void load(Load& to, const Load& before, u32 weights, int batch) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
      for (int of_batch = 0; of_batch < kBatch; ++of_batch) {
        const int unit = batch * kBatch + of_batch;
        const u32 block = weights + b * Ring::kStripBytes + unit / W::kUnits * W::kBytes;
        to.words[of_batch][b] = load_words(block + (unit % W::kUnits * 4 + warp) * 512 + lane * 16);
        if (of_batch == 0) to.lines[b] = unit % W::kUnits == 0 ? W::lines(block, warp) : before.lines[b];
      }
    }
  }

  // Weights of a group in a slice, at a shared address, and the batches of them that are loaded.
  struct Weights {
    u32 address;
    Load loads[2];
    __device__ explicit Weights(u32 at) : address(at) {}
    __device__ __forceinline__ void begin() {
      if constexpr (kAhead) load(loads[0], loads[1], address, 0);
    }
    __device__ __forceinline__ void before_wait(int batch) {
      if (kAhead && batch + 1 < kBatches) load(loads[(batch + 1) % 2], loads[batch % 2], address, batch + 1);
    }
    __device__ __forceinline__ void after_wait(int batch) {
      if constexpr (!kAhead) load(loads[batch % 2], loads[1 - batch % 2], address, batch);
    }
  };

  // Products of a slice, a batch of units at a time: the operands of one are unpacked while the products of the one
  // before run. At the end the last batch's are under way. previous: stage to release once its products have ended, or -1.
  // group: of lines.
  static __device__ __forceinline__ void multiply(const Ring& ring, int stage, int group, Sums& sums, bool first,
                                                  int previous) {
    const u32 x = ring.slice(stage);
    Weights weights(x + Ring::kXBytes + group * BLOCKS * Ring::kStripBytes);
    u32 a[2][kBatch][BLOCKS][W::kSteps][4];
    weights.begin();
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) {
      weights.before_wait(batch);
      wgmma_wait<1>();
      if (batch == 1) give_back(ring, previous);
      weights.after_wait(batch);
#pragma unroll
      for (int of_batch = 0; of_batch < kBatch; ++of_batch) {
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
          for (int step = 0; step < W::kSteps; ++step) {
            W::fragment(a[batch % 2][of_batch][b][step], weights.loads[batch % 2].words[of_batch][b], step,
                        weights.loads[batch % 2].lines[b]);
          }
        }
      }
      wgmma_fence();
#pragma unroll
      for (int of_batch = 0; of_batch < kBatch; ++of_batch) {
#pragma unroll
        for (int step = 0; step < W::kSteps; ++step) {
          const int at = (batch * kBatch + of_batch) * W::kSteps + step;  // in steps of 32 bytes
          const u64 rows = wgmma_operand(x + at / 4 * Ring::kPanelBytes + at % 4 * 32);
#pragma unroll
          for (int b = 0; b < BLOCKS; ++b) {
            Product::multiply(sums.d[b], a[batch % 2][of_batch][b][step], rows, first && at == 0 ? 0 : 1);
          }
        }
      }
      wgmma_commit();
    }
  }
};

}  // namespace ak
