// SPDX-License-Identifier: Apache-2.0
// A block's tiles of a product on Hopper's matrix units: its shared memory, who does what, and results that leave in
// panels. wgmma_pipeline.cuh multiplies, stream_k.cuh shares the tiles out.
//
//   shared memory:  [slice of a | slice of b] x STAGES   two panels of 64 x 64 results for every consumer   barriers
//
// Results of 16 bits go through panels, 64 columns at a time, so that the accelerator can write them as whole lines
// while the next tile's slices already arrive. Costs two named barriers of a warp group for each panel.
#pragma once

#include <ak/fragments.cuh>
#include <ak/stream_k.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tma.cuh>
#include <ak/vectors.cuh>
#include <ak/wgmma_pipeline.cuh>

namespace ak {

// STREAMED: the last tiles are cut along k. GROUP: rows of tiles that are taken together, column by column.
template <class PIPELINE, int GROUP, bool STREAMED>
struct ProductTiles {
  static constexpr int kPanel = 64 * 128;  // bytes of 64 x 64 results
  using Tiles = typename PIPELINE::template Grid<GROUP>;
  using Left = LeftSums<typename PIPELINE::Sum, PIPELINE::kBlocks * PIPELINE::kColumns / 2>;

  PipelineMemory ring;
  unsigned char* results;  // of every consumer two panels, or rows of its four warps

  // memory: the block's dynamic shared memory.
  explicit __device__ __forceinline__ ProductTiles(unsigned char* memory) {
    unsigned char* slices = memory + (1024 - shared_address(memory) % 1024) % 1024;
    ring.slices = shared_address(slices);
    results = slices + PIPELINE::kStages * PIPELINE::kStageBytes;
    ring.full = ring.slices + PIPELINE::kStages * PIPELINE::kStageBytes + PIPELINE::kConsumers * 2 * kPanel;
    ring.empty = ring.full + PIPELINE::kStages * 8;
  }

  // Multiplies; write(sums, at, group) is given the sums of a consumer's rows, and the place of the first.
  template <class Write>
  __device__ __forceinline__ void make(const CUtensorMap* map_a, const CUtensorMap* map_b, const Left& left, int batch,
                                       int m, int n, int k, Write write) const {
    constexpr int kCluster = PIPELINE::kCluster, kConsumers = PIPELINE::kConsumers;
    PIPELINE::begin(ring);
    const Tiles tiles(m, n, batch);
    const int rank = PIPELINE::rank(), slices = (k + PIPELINE::kDepth - 1) / PIPELINE::kDepth;
    using Work = TilesOf<STREAMED>;
    const Work work(blockIdx.x / kCluster, gridDim.x / kCluster, tiles.count, slices);
    const int group = warp_group();
    if (group == kConsumers) {
      PIPELINE::become_producer();
      if (threadIdx.x % 128 == 0) PIPELINE::produce(map_a, map_b, ring, tiles, work, rank);
    } else {
      PIPELINE::become_consumer();
      PIPELINE::consume(ring, work, group, [&](typename PIPELINE::Sums& sums, const TilePart& part) {
        if (!left.complete(sums, work, part, kCluster * kConsumers, rank * kConsumers + group, group + 1)) return;
        ElementPlace at = tiles.place(part.tile, rank);
        at.row += PIPELINE::kPingPong ? 0 : group * PIPELINE::kBlocks * 64;
        write(sums, at, group);
      });
      if (threadIdx.x % 128 == 0) wait_stores<0>();
    }
    PIPELINE::end();
  }

  // Writes a consumer's sums as results of type T through its panels; map: of the result, boxes of 64 x 64, swizzled by
  // 128 bytes. follow.addend(column) is added to a sum, follow.result(sum) is the result. turn: the panel that is next,
  // 0 before the first tile.
  template <class T, class FOLLOW>
  __device__ __forceinline__ void write_panels(const CUtensorMap* map, int consumer,
                                               const typename PIPELINE::Sums& sums, const FOLLOW& follow, int row,
                                               int column, int& turn) const {
    const bool leader = threadIdx.x % 128 == 0;
    const u32 panels = shared_address(results);
#pragma unroll
    for (int block = 0; block < PIPELINE::kBlocks; ++block) {
#pragma unroll
      for (int part = 0; part < PIPELINE::kColumns / 64; ++part) {
        const u32 panel = panels + (consumer * 2 + turn) * kPanel;
        turn ^= 1;
        if (leader) wait_stores_read<1>();
        named_barrier<128>(consumer + 1);
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
          put<T>(panel, pair, &sums[block][part * 32 + pair * 8], follow, column + part * 64 + pair * 16);
        }
        fence_shared_writes();
        named_barrier<128>(consumer + 1);
        if (leader) {
          tma_store(map, panel, column + part * 64, row + block * 64);
          commit_stores();
        }
      }
    }
  }

 private:
  template <class T>
  static __device__ __forceinline__ u32 pack(float low, float high) {
    Pack<T, 2> pair;
    pair.value[0] = static_cast<T>(low);
    pair.value[1] = static_cast<T>(high);
    return pair.raw;
  }

  // 16 columns of results as four matrices of 8 x 8 into a swizzled panel. d: sums of two blocks of 8 columns.
  template <class T, class FOLLOW>
  static __device__ __forceinline__ void put(u32 panel, int pair, const float* d, const FOLLOW& follow, int column) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    u32 words[4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = column + half * 8 + lane % 4 * 2;
      const float first = follow.addend(at), second = follow.addend(at + 1);
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        const float* two = d + half * 4 + low * 2;
        words[half * 2 + low] = pack<T>(follow.result(two[0] + first), follow.result(two[1] + second));
      }
    }
    const int row = warp * 16 + lane / 8 % 2 * 8 + lane % 8, chunk = pair * 2 + lane / 16;
    store_matrices(panel + swizzled(row, chunk), words[0], words[1], words[2], words[3]);
  }
};

}  // namespace ak
