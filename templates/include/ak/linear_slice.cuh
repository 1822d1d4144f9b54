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

  // Weights of a slice in shared memory, at the address of those of this group of lines.
  struct FromShared {
    u32 weights;
    Load loads[2];
    __device__ explicit FromShared(u32 address) : weights(address) {}
    __device__ __forceinline__ void begin() {
      if constexpr (kAhead) load(loads[0], loads[1], weights, 0);
    }
    __device__ __forceinline__ void before_wait(int batch) {
      if (kAhead && batch + 1 < kBatches) load(loads[(batch + 1) % 2], loads[batch % 2], weights, batch + 1);
    }
    __device__ __forceinline__ void after_wait(int batch) {
      if constexpr (!kAhead) load(loads[batch % 2], loads[1 - batch % 2], weights, batch);
    }
    __device__ __forceinline__ const uint4& words(int batch, int of_batch, int b) const {
      return loads[batch % 2].words[of_batch][b];
    }
    __device__ __forceinline__ const typename W::Lines& lines(int batch, int b) const { return loads[batch % 2].lines[b]; }
    __device__ __forceinline__ void unpacked(int) {}
  };

  // Weights of a slice in registers, for 64 lines. What was unpacked is loaded anew, with what the slice at `next` has
  // there, if it is one.
  template <class FORMAT>
  struct Kept {
    uint4 words[kUnits];
    u32 tail[kUnits / W::kUnits][FORMAT::kTailWords];

    __device__ __forceinline__ void load_unit(int unit, const unsigned char* slice, bool inside) {
      const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32, of_slice = unit / W::kUnits;
      const unsigned char* block = slice + of_slice * W::kBytes;
      load_once(words[unit], block + (unit % W::kUnits * 4 + warp) * 512 + lane * 16, inside);
      if (unit % W::kUnits != W::kUnits - 1) return;
#pragma unroll
      for (int i = 0; i < FORMAT::kTailWords; ++i) {
        load_once(tail[of_slice][i], block + FORMAT::tail_at(warp) + i * 4, inside);
      }
    }
    __device__ __forceinline__ void load_all(const unsigned char* slice, bool inside) {
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) load_unit(unit, slice, inside);
    }
  };
  template <class KEPT>
  struct FromRegisters {
    KEPT& kept;
    const unsigned char* next;
    bool inside;
    typename W::Lines of_block;
    __device__ FromRegisters(KEPT& slice, const unsigned char* next_slice, bool is_one)
        : kept(slice), next(next_slice), inside(is_one) {}
    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ void before_wait(int) {}
    __device__ __forceinline__ void after_wait(int unit) {
      if (unit % W::kUnits == 0) of_block = W::expand(kept.tail[unit / W::kUnits]);
    }
    __device__ __forceinline__ const uint4& words(int unit, int, int) const { return kept.words[unit]; }
    __device__ __forceinline__ const typename W::Lines& lines(int, int) const { return of_block; }
    __device__ __forceinline__ void unpacked(int unit) { kept.load_unit(unit, next, inside); }
  };

  // Products of a slice, a batch of units at a time: the operands of one are unpacked while the products of the one
  // before run. At the end the last batch's are under way. previous: stage to release once its products have ended, or -1.
  // from: where its weights are.
  template <class From>
  static __device__ __forceinline__ void multiply(const Ring& ring, int stage, Sums& sums, bool first, int previous,
                                                  From from) {
    const u32 x = ring.slice(stage);
    u32 a[2][kBatch][BLOCKS][W::kSteps][4];
    from.begin();
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) {
      from.before_wait(batch);
      wgmma_wait<1>();
      if (batch == 1) give_back(ring, previous);
      from.after_wait(batch);
#pragma unroll
      for (int of_batch = 0; of_batch < kBatch; ++of_batch) {
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
          for (int step = 0; step < W::kSteps; ++step) {
            W::fragment(a[batch % 2][of_batch][b][step], from.words(batch, of_batch, b), step, from.lines(batch, b));
          }
        }
      }
      from.unpacked(batch);
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
