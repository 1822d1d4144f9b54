// SPDX-License-Identifier: Apache-2.0
// Tiles of a product on Hopper: slices come through a ring (TMA), warp groups multiply them (wgmma).
//
// One warp group fetches and CONSUMERS multiply. A slice is 128 bytes deep in k: ROWS lines of a, then COLUMNS lines of
// b, all of 128 swizzled bytes; an operand that lies across k (16-bit elements only) is panels of 64 lines of k
// instead. Tensor maps have boxes of 128 bytes by lines, which a cluster's blocks share where they share the operand.
//
//   shared memory:  [slice of a | slice of b] x STAGES      full barriers x STAGES      empty barriers x STAGES
//
// Cooperative: the consumers have ROWS / CONSUMERS rows of every tile each. Ping-pong: two consumers take whole tiles
// in turn (named barriers 3 and 4), so that one stores its results while the other multiplies. CLUSTER blocks work on
// tiles below each other and share b (multicast), or side by side and share a. Barriers carry no cluster-wide order,
// which costs a memory barrier a slice: blocks hand over what has been read.
#pragma once

#include <ak/barriers.cuh>
#include <ak/clusters.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma.cuh>

namespace ak {

// Addresses of a block's ring in shared memory; slices begin at a multiple of 1024 bytes.
struct PipelineMemory {
  u32 slices, full, empty;
};

// A block's tile: row and column of its first element, and which matrix of a batch it is of.
struct ElementPlace {
  int row, column, batch;
};

// PROMOTE: slices whose sums the matrix units add up before they join the others in float registers, which then hold
// two sets; 0: all. SIDE_BY_SIDE: blocks of a cluster. BATCHED: tensor maps have a third dimension, the matrix.
template <class ELEMENT, int ROWS, int COLUMNS, int CONSUMERS, int STAGES, int CLUSTER = 1, bool ACROSS_A = false,
          bool ACROSS_B = false, bool PINGPONG = false, bool SIDE_BY_SIDE = false, int PROMOTE = 0,
          bool BATCHED = false>
struct WgmmaPipeline {
  static_assert(!PINGPONG || CONSUMERS == 2, "two consumers take turns");
  static_assert(CONSUMERS != 3 || ROWS / 64 / 3 * COLUMNS / 2 * (PROMOTE > 0 ? 2 : 1) <= 96, "152 registers each");
  using Sum = typename ELEMENT::Sum;
  static constexpr int kColumns = COLUMNS, kConsumers = CONSUMERS, kStages = STAGES, kCluster = CLUSTER;
  static constexpr bool kPingPong = PINGPONG;
  static constexpr int kThreads = (CONSUMERS + 1) * 128, kPanel = 64 * 128;  // bytes of 64 lines
  static constexpr int kDepth = 128 / ELEMENT::kBytes;                       // elements of k in a slice
  static constexpr int kBlocks = ROWS / (PINGPONG ? 1 : CONSUMERS) / 64;     // of 64 rows, for each consumer
  static constexpr int kLinesB = ACROSS_B ? (COLUMNS + 63) / 64 * 64 : COLUMNS;  // whole panels
  static constexpr int kBytesA = ROWS * 128, kStageBytes = kBytesA + kLinesB * 128;
  static constexpr int kDown = SIDE_BY_SIDE ? 1 : CLUSTER, kAcross = SIDE_BY_SIDE ? CLUSTER : 1;  // blocks of a cluster
  // Sums of a consumer's thread: [b][i] are as in wgmma.cuh, 64 * b rows further down.
  using Sums = Sum[kBlocks][COLUMNS / 2];

  // The tiles of m x n in units of clusters, in groups of GROUP rows; those of a batch one matrix after the other.
  template <int GROUP>
  struct Grid {
    int down, across, matrix, count;
    __device__ Grid(int m, int n, int batch = 1)
        : down((m + ROWS * kDown - 1) / (ROWS * kDown)), across((n + COLUMNS * kAcross - 1) / (COLUMNS * kAcross)),
          matrix(down * across), count(matrix * batch) {}
    __device__ __forceinline__ ElementPlace place(int tile, int rank) const {
      const int batch = BATCHED ? tile / matrix : 0;
      const TilePlace at = grouped_place<GROUP>(tile - batch * matrix, down, across);
      return {(at.row * kDown + (SIDE_BY_SIDE ? 0 : rank)) * ROWS,
              (at.column * kAcross + (SIDE_BY_SIDE ? rank : 0)) * COLUMNS, batch};
    }
  };

  // Sets the barriers up; all threads of the block, once, before anything else.
  static __device__ __forceinline__ void begin(const PipelineMemory& memory) {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < STAGES; ++stage) {
        barrier_init(memory.full + stage * 8, 1);
        barrier_init(memory.empty + stage * 8, (PINGPONG ? 1 : CONSUMERS) * 4 * CLUSTER);  // 4 warps a group
      }
      publish_barriers();
    }
    __syncthreads();
    if constexpr (CLUSTER > 1) cluster_sync();
  }
  // Last of all: a block that is gone could not be written to or arrived at.
  static __device__ __forceinline__ void end() {
    if constexpr (CLUSTER > 1) cluster_sync();
  }
  static __device__ __forceinline__ int rank() { return CLUSTER > 1 ? cluster_rank() : 0; }

  // Who fetches gives registers to who multiplies; the most leaves too few to fetch without spilling: for large sums.
  static constexpr bool kLarge = kBlocks * COLUMNS / 2 * (PROMOTE > 0 ? 2 : 1) > 192;
  static constexpr int kKept = CONSUMERS == 3 ? 56 : kLarge ? 24 : 40, kTaken = CONSUMERS == 3 ? 152 : kLarge ? 240 : 232;
  static __device__ __forceinline__ void become_producer() {
    if constexpr (CONSUMERS > 1) give_registers<kKept>();
  }
  static __device__ __forceinline__ void become_consumer() {
    if constexpr (CONSUMERS > 1) take_registers<kTaken, CONSUMERS, kKept>();
  }

  // One thread: fetches the slices of all parts of `work`.
  template <class Tiles, class Work>
  static __device__ __forceinline__ void produce(const CUtensorMap* map_a, const CUtensorMap* map_b,
                                                 const PipelineMemory& memory, const Tiles& tiles, Work work, int rank) {
    Ring<STAGES> ring;
    while (work.more()) {
      const TilePart part = work.next();
      const ElementPlace at = tiles.place(part.tile, rank);
      for (int slice = part.first; slice < part.first + part.count; ++slice) {
        barrier_wait(memory.empty + ring.stage * 8, ring.parity ^ 1);
        fetch(map_a, map_b, memory, ring.stage, at, slice * kDepth, rank);
        ring.advance();
      }
    }
  }

  // A consumer: multiplies its parts of `work` and hands the sums of each to finish(sums, part).
  template <class Work, class Finish>
  static __device__ __forceinline__ void consume(const PipelineMemory& memory, Work work, int consumer, Finish finish) {
    Ring<STAGES> ring;
    int whose = 0;
    if constexpr (PINGPONG) {
      if (consumer == 1 && work.more()) named_barrier_arrive<256>(3);
    }
    while (work.more()) {
      const TilePart part = work.next();
      if constexpr (PINGPONG) {
        const bool mine = whose == consumer;
        whose ^= 1;
        if (!mine) {
          ring.skip(part.count);
          continue;
        }
        named_barrier<256>(3 + consumer);
      }
      const auto pass_turn = [&] {
        if constexpr (PINGPONG) {
          if (work.more()) named_barrier_arrive<256>(3 + (consumer ^ 1));
        }
      };
      Sums sums;
      multiply_part(memory, ring, PINGPONG ? 0 : consumer, part.count, sums, pass_turn);
      finish(sums, part);
    }
  }

 private:
  // LINES rows of a or columns of b from `line` on. SHARED: each block of the cluster fetches its share for all.
  template <bool ACROSS, int LINES, bool SHARED>
  static __device__ __forceinline__ void fetch_operand(u32 to, const CUtensorMap* map, u32 barrier, int line, int k,
                                                       int batch, int rank) {
    constexpr int kLines = (ACROSS ? 64 : LINES) / (SHARED ? CLUSTER : 1);
    const int first = SHARED ? rank * kLines : 0;
    constexpr u16 kAll = (1 << CLUSTER) - 1;
    const auto load = [&](u32 at, int x, int y) {
      if constexpr (SHARED && BATCHED) tma_load_multicast(at, map, barrier, kAll, x, y, batch);
      if constexpr (SHARED && !BATCHED) tma_load_multicast(at, map, barrier, kAll, x, y);
      if constexpr (!SHARED && BATCHED) tma_load(at, map, barrier, x, y, batch);
      if constexpr (!SHARED && !BATCHED) tma_load(at, map, barrier, x, y);
    };
    if constexpr (!ACROSS) {
      load(to + first * 128, k, line + first);
    } else {
#pragma unroll
      for (int panel = 0; panel < LINES / 64; ++panel) {
        load(to + panel * kPanel + first * 128, line + panel * 64, k + first);
      }
    }
  }

  static __device__ __forceinline__ void fetch(const CUtensorMap* map_a, const CUtensorMap* map_b,
                                               const PipelineMemory& memory, int stage, const ElementPlace& at, int k,
                                               int rank) {
    constexpr bool kShared = CLUSTER > 1;
    const u32 to = memory.slices + stage * kStageBytes, barrier = memory.full + stage * 8;
    barrier_expect(barrier, kStageBytes);
    fetch_operand<ACROSS_A, ROWS, kShared && SIDE_BY_SIDE>(to, map_a, barrier, at.row, k, at.batch, rank);
    fetch_operand<ACROSS_B, kLinesB, kShared && !SIDE_BY_SIDE>(to + kBytesA, map_b, barrier, at.column, k, at.batch, rank);
  }

  // Tells every block of the cluster that this warp's products have read a slice; others of its group may still read.
  static __device__ __forceinline__ void release(const PipelineMemory& memory, int stage) {
    const int lane = threadIdx.x % 32;
    if (lane < CLUSTER) barrier_arrive_at(memory.empty + stage * 8, lane);
  }

  // kPanel bytes from 64 elements across to the next 64, looked at only for operands that lie across k. An
  // instruction's step in k is 32 bytes along the lines, or 16 lines further down.
  static __device__ __forceinline__ u64 operand(u32 address) { return wgmma_operand(address, kPanel); }
  static constexpr int kStepA = ACROSS_A ? 16 * 128 : 32, kStepB = ACROSS_B ? 16 * 128 : 32;

  static __device__ __forceinline__ void multiply(const PipelineMemory& memory, int stage, int consumer, Sums& sums,
                                                  bool first) {
    const u32 slice = memory.slices + stage * kStageBytes;
    const u32 a = slice + consumer * kBlocks * kPanel, b = slice + kBytesA;
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) {  // of 32 bytes
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        Wgmma<ELEMENT, COLUMNS, ACROSS_A, ACROSS_B>::multiply(
            sums[block], operand(a + block * kPanel + step * kStepA), operand(b + step * kStepB),
            first && step == 0 ? 0 : 1);
      }
    }
    wgmma_commit();
  }

  // sums = the products of the next `count` slices; issued() runs when the last of them are under way.
  template <class Issued>
  static __device__ __forceinline__ void multiply_slices(const PipelineMemory& memory, Ring<STAGES>& ring, int consumer,
                                                         int count, Sums& sums, Issued issued) {
    int last = 0;
    for (int slice = 0; slice < count; ++slice) {
      barrier_wait(memory.full + ring.stage * 8, ring.parity);
      multiply(memory, ring.stage, consumer, sums, slice == 0);
      if (slice > 0) {  // the products before these have ended: their slice may be filled again
        wgmma_wait<1>();
        release(memory, last);
      }
      last = ring.stage;
      ring.advance();
    }
    issued();
    wgmma_wait<0>();
    release(memory, last);
  }

  template <class Action>
  static __device__ __forceinline__ void each_sum(Action action) {
#pragma unroll
    for (int i = 0; i < kBlocks * COLUMNS / 2; ++i) action(i / (COLUMNS / 2), i % (COLUMNS / 2));
  }

  template <class Issued>
  static __device__ __forceinline__ void multiply_part(const PipelineMemory& memory, Ring<STAGES>& ring, int consumer,
                                                       int count, Sums& sums, Issued issued) {
    if constexpr (PROMOTE == 0) {
      multiply_slices(memory, ring, consumer, count, sums, issued);
    } else {
      each_sum([&](int block, int i) { sums[block][i] = 0; });
      for (int done = 0; done < count; done += PROMOTE) {
        Sums fresh;
        multiply_slices(memory, ring, consumer, min(PROMOTE, count - done), fresh, [&] {
          if (done + PROMOTE >= count) issued();
        });
        each_sum([&](int block, int i) { sums[block][i] += fresh[block][i]; });
      }
    }
  }
};

}  // namespace ak
