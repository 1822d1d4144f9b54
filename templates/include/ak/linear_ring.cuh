// SPDX-License-Identifier: Apache-2.0
// The ring of a linear layer on Hopper: tiles of a block or cluster, and the warp that fills slices for warp groups.
//
// A block has LINES lines of the weight by BM rows of x. One warp fetches slices of BK into STAGES stages: x through a
// tensor map (boxes of 128 bytes of k by BM / SHARE rows, swizzled), packed weights as bulk copies, which L2 drops first
// where no other tile reads them, and with SCALED the scales of x by cp.async. `full` completes when all of a slice is
// there, `empty` when the READERS warp groups of all blocks that share it have read it:
//
//   a stage:  [x: panels of BM lines of 128 swizzled bytes | weights: strips of 64 lines | scales of x]
//
// SPLIT_K blocks of a cluster share a tile along k. SHARE blocks of a cluster have tiles of neighbouring lines and the
// same rows: each fetches its share of x for all. Past the last strip of lines that one is fetched again.
#pragma once

#include <ak/barriers.cuh>
#include <ak/copies.cuh>
#include <ak/linear_results.cuh>
#include <ak/packed_weights.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>

namespace ak {

// What a linear layer multiplies: lines of packed weights by rows of x, over k.
struct LinearWork {
  const unsigned char* packed;
  int rows, lines, k;
};

// The ring and its tiles as a type. W: format of the weights.
template <class W, int READERS, int LINES, int BM, int BK, int STAGES, int SPLIT_K, int SHARE, int GROUP, bool SCALED>
struct LinearRing {
  using X = typename W::X;

  static constexpr int kCluster = SPLIT_K * SHARE, kStrips = LINES / 64;
  static constexpr int kPanels = BK * X::kBytes / 128, kPanelBytes = BM * 128, kXBytes = kPanels * kPanelBytes;
  static constexpr int kBlocks = BK / W::kDepth, kStripBytes = kBlocks * W::kBytes;
  static constexpr int kScalesAt = kXBytes + kStrips * kStripBytes;
  static constexpr int kStageBytes = (kScalesAt + (SCALED ? BM * 4 : 0) + 1023) / 1024 * 1024;
  static constexpr int kBytes = STAGES * kStageBytes;
  static_assert(SPLIT_K == 1 || SHARE == 1);
  static_assert(BK % W::kDepth == 0 && LINES % 64 == 0 && BM % (8 * SHARE) == 0);

  using Place = Ring<STAGES>;
  u32 slices, full, empty;  // shared addresses: STAGES stages, at a multiple of 1024, and as many barriers each
  __device__ u32 slice(int stage) const { return slices + stage * kStageBytes; }

  // Sets the barriers up, by one thread; then a barrier of the block, or of the cluster.
  __device__ __forceinline__ void start() const {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(full + stage * 8, 1 + (SCALED ? 32 : 0));
      barrier_init(empty + stage * 8, READERS * 4 * SHARE);  // 4 warps a group
    }
    publish_barriers();
  }

  // ---- tiles

  struct Tile {
    int row, line;
    TilePart part;  // slices
  };
  static __device__ __forceinline__ int down(const LinearWork& work) {
    return (work.lines + LINES * SHARE - 1) / (LINES * SHARE);
  }
  static __device__ __forceinline__ int across(const LinearWork& work) { return (work.rows + BM - 1) / BM; }
  static __device__ __forceinline__ int tiles(const LinearWork& work) { return down(work) * across(work); }

  // Tile `index` for this block: neighbours in a cluster have neighbouring lines or neighbouring parts of k.
  static __device__ __forceinline__ Tile tile_at(const LinearWork& work, int index, int rank) {
    // Where no tile has the same lines there is nothing to divide: the first slice is asked for so much sooner.
    const TilePlace at =
        across(work) == 1 ? TilePlace{index, 0} : grouped_place<GROUP>(index, down(work), across(work));
    const int slices = (work.k + BK - 1) / BK;
    return {at.column * BM, (at.row * SHARE + (SHARE > 1 ? rank : 0)) * LINES,
            split_part<SPLIT_K>(index, slices, SPLIT_K > 1 ? rank : 0)};
  }

  // ---- the warp that fetches

  // Announces a slice and asks for its weights.
  __device__ __forceinline__ void fetch_weights(const LinearWork& work, const Tile& tile, int slice, int stage,
                                                u64 policy) const {
    const u32 to = this->slice(stage) + kXBytes, barrier = full + stage * 8;
    barrier_expect(barrier, kXBytes + kStrips * kStripBytes);
    const int blocks = W::blocks(work.k), last = (work.lines - 1) / 64;  // past the last strip that one again
    for (int strip = 0; strip < kStrips; ++strip) {
      const long long block = static_cast<long long>(min(tile.line / 64 + strip, last)) * blocks + slice * kBlocks;
      bulk_load(to + strip * kStripBytes, work.packed + block * W::kBytes, kStripBytes, barrier, policy);
    }
  }
  __device__ __forceinline__ void fetch_rows(const CUtensorMap* map_x, const Tile& tile, int slice, int stage,
                                             int rank) const {
    const u32 to = this->slice(stage), barrier = full + stage * 8;
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      const int at = slice * BK + panel * (128 / X::kBytes);
      constexpr int kShare = BM / SHARE;
      if constexpr (SHARE == 1) {
        tma_load(to + panel * kPanelBytes, map_x, barrier, at, tile.row);
      } else {
        tma_load_multicast(to + panel * kPanelBytes + rank * kShare * 128, map_x, barrier, (1 << SHARE) - 1, at,
                           tile.row + rank * kShare);
      }
    }
  }

  // Scales of the rows, by all lanes; each arrives at the barrier when its copies have ended.
  __device__ __forceinline__ void fetch_scales(const Tile& tile, const BlockScales& scales, int slice,
                                               int stage) const {
    const u32 to = this->slice(stage) + kScalesAt;
    for (int i = threadIdx.x % 32; i < BM; i += 32) {
      const bool inside = tile.row + i < scales.row_count;
      const float* from = scales.rows + static_cast<long long>(slice) * scales.row_count + tile.row + i;
      copy_async<4>(to + i * 4, inside ? from : scales.rows, inside);
    }
    barrier_arrive_after_copies(full + stage * 8);
  }

  // Fills stages with the first slices of this block's first tile, by one thread, before any other has seen the barriers;
  // how many. Nobody else's barriers are needed: neither shared rows nor scales.
  __device__ __forceinline__ int fill_first(const CUtensorMap* map_x, const LinearWork& work, int rank) const {
    static_assert(SHARE == 1 && !SCALED);
    const int index = blockIdx.x / kCluster;
    if (index >= tiles(work)) return 0;
    const u64 policy = cache_policy(across(work) == 1);
    const Tile tile = tile_at(work, index, rank);
    const int count = max(min(STAGES, tile.part.count), 0);  // a last part may have less than nothing
    // Weights are in memory, and need no tensor map: they are asked for while x comes to L2 and the map is read.
#pragma unroll 1
    for (int i = 0; i < count; ++i) fetch_weights(work, tile, tile.part.first + i, i, policy);
#pragma unroll 1
    for (int i = 0; i < count; ++i) fetch_rows(map_x, tile, tile.part.first + i, i, rank);
    return count;
  }

  // Fills slices of all of this block's tiles, by one warp, of which the first `filled` are there.
  template <class Scales>
  __device__ __forceinline__ void fill(const CUtensorMap* map_x, const LinearWork& work, int rank,
                                       const Scales& scales, int filled) const {
    Place ring;
    ring.skip(filled);
    const u64 policy = cache_policy(across(work) == 1);  // else other tiles read the weights, too
    for (int index = blockIdx.x / kCluster; index < tiles(work); index += gridDim.x / kCluster) {
      const Tile tile = tile_at(work, index, rank);
      for (int i = filled; i < tile.part.count; ++i) {
        barrier_wait(empty + ring.stage * 8, ring.parity ^ 1);
        if (threadIdx.x % 32 == 0) {
          fetch_weights(work, tile, tile.part.first + i, ring.stage, policy);
          fetch_rows(map_x, tile, tile.part.first + i, ring.stage, rank);
        }
        if constexpr (SCALED) fetch_scales(tile, scales, tile.part.first + i, ring.stage);
        ring.advance();
      }
      filled = 0;
    }
  }

  // Tells every block that fills this slice that this warp has read it; nothing where `stage` is -1.
  __device__ __forceinline__ void release(int stage) const {
    const int lane = threadIdx.x % 32;
    if constexpr (SHARE > 1) {
      if (lane < SHARE && stage >= 0) barrier_arrive_at(empty + stage * 8, lane);
    } else {
      if (lane == 0 && stage >= 0) barrier_arrive(empty + stage * 8);
    }
  }
};

}  // namespace ak
